-- Removes a paused queue with all its jobs, at most `count` per call.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    count (jobs per call), force (1 = active jobs as well)
-- Returns 0 done; 1 more to do; -1 the queue is not paused; -2 it has active jobs and force is off
-- Events  none (the stream goes too)
local call = redis.call
--- @include discard_job
local P = string.sub(KEYS[1], 1, -5)
local budget = assert(tonumber(ARGV[1]), 'count is not a number')
if call('HEXISTS', KEYS[1], 'paused') == 0 then
  return -1
elseif ARGV[2] ~= '1' and call('LLEN', P .. 'active') > 0 then
  return -2
end

-- Parents in waiting-children stay, as in BullMQ. Version 6 keeps the jobs of a paused queue in `wait`.
-- `ext:named` has the names of our keys that end with something of their own.
for _, state in ipairs({
  'active', 'delayed', 'repeat', 'completed', 'wait', 'paused', 'prioritized', 'failed', 'ext:named',
}) do
  local key = P .. state
  local is_list = state == 'active' or state == 'wait' or state == 'paused' or state == 'ext:named'
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
for _, name in ipairs({ 'events', 'delay', 'stalled-check', 'stalled', 'id', 'pc', 'meta', 'marker' }) do
  call('DEL', P .. name)
end
-- All our other keys, but for those of a migration, which end with its cleanup.
for _, name in ipairs({
  'routes', 'retired', 'rseen', 'rver', 'workers', 'routewd', 'hint', 'cancel', 'cron', 'cronwd',
}) do
  call('DEL', P .. 'ext:' .. name)
end
for _, state in ipairs({ 'completed', 'failed' }) do
  call('DEL', P .. 'metrics:' .. state, P .. 'metrics:' .. state .. ':data')
end
return reply_or_error(0)
