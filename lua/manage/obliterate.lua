-- Removes a paused queue with all its jobs, at most `count` per call.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    count (jobs per call), force (1 = active jobs as well)
-- Returns 0 done; 1 more to do; -1 the queue is not paused; -2 it has active jobs and force is off
-- Events  none (the stream goes too)
local call = redis.call
--- @include discard_job
--- @include keys_to_empty
--- @include keys_to_delete
local P = string.sub(KEYS[1], 1, -5)
local budget = assert(tonumber(ARGV[1]), 'count is not a number')
if call('HEXISTS', KEYS[1], 'paused') == 0 then
  return -1
elseif ARGV[2] ~= '1' and call('LLEN', P .. 'active') > 0 then
  return -2
end

-- Parents in waiting-children stay, as in BullMQ. Version 6 keeps the jobs of a paused queue in `wait`.
-- `ext:named` has the names of our keys that end with something of their own.
for _, row in ipairs(keys_to_empty) do
  local state, is_list = row[1], row[2] == 'list'
  local key = P .. state
  while budget > 0 and call('EXISTS', key) == 1 do
    local ids = call(is_list and 'LRANGE' or 'ZRANGE', key, 0, math.min(budget, 1000) - 1)
    for _, id in ipairs(ids) do
      if state == 'repeat' then
        call('DEL', P .. 'repeat:' .. id)
      elseif state == 'ext:named' then
        call('DEL', P .. 'ext:' .. id)
      else
        discard_job(P, id, true)
      end
      if state == 'active' then
        call('DEL', P .. id .. ':lock')
      end
    end
    if is_list then
      call('LTRIM', key, #ids, -1)
    else
      call('ZREMRANGEBYRANK', key, 0, #ids - 1)
    end
    budget = budget - #ids
  end
  if budget <= 0 then
    return reply_or_error(1)
  end
end

-- `delay` is a key of older versions. A delayed job sets the marker even while paused; it is deleted as in version 6. Keys of a
-- migration end with its cleanup.
for _, row in ipairs(keys_to_delete) do
  call('DEL', P .. row[1])
end
return reply_or_error(0)
