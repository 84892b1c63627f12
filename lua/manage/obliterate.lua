-- Removes a paused queue with all its jobs, at most `count` per call.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    count (jobs per call), force (1 = active jobs as well)
-- Returns 0 done; 1 more to do; -1 the queue is not paused; -2 it has active jobs and force is off
-- Events  none (the stream goes too)
local call = redis.call
--- @include discard_job
--- @include change_version
--- @include keys_to_empty
--- @include keys_to_delete
local P = string.sub(KEYS[1], 1, -5)
local budget = assert(tonumber(ARGV[1]), 'count is not a number')
if call('HEXISTS', KEYS[1], 'paused') == 0 then
  return -1
elseif ARGV[2] ~= '1' and call('LLEN', P .. 'active') > 0 then
  return -2
end

-- Parents in waiting-children stay, as in BullMQ, and so do the entries of routes that have some: workers must find
-- them. Version 6 keeps the jobs of a paused queue in `wait`. `ext:named` has the names of our keys that end with
-- something of their own.
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

-- `delay` is a key of older versions. A delayed job sets the marker even while paused; it is deleted as in version 6.
-- Keys of a migration end with its cleanup.
local Q = string.sub(P, 1, -2) .. '~'
local slugs, kept = redis.pcall('HKEYS', P .. 'ext:routes'), {}
if not slugs.err then
  for _, slug in ipairs(slugs) do
    if redis.pcall('EXISTS', Q .. slug .. ':waiting-children') == 1 then
      kept['ext:routes'], kept['ext:rver'] = true, true
    else
      call('HDEL', P .. 'ext:routes', slug)
    end
  end
end
if kept['ext:routes'] then
  change_version(P)
end
for _, row in ipairs(keys_to_delete) do
  if not kept[row[1]] then
    call('DEL', P .. row[1])
  end
end
return reply_or_error(0)
