-- Deletes the keys of a queue of Bull that has nothing left to run: first its finished jobs, a part per call, at last
-- all others.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    count (finished jobs of each state per call)
-- Returns { how many jobs and keys were deleted, 1 if there is more }; the name of the key that still has jobs
local call = redis.call
--- @include release_debounce
local P = string.sub(KEYS[1], 1, -5)
local count = assert(tonumber(ARGV[1]), 'count is not a number')
for _, name in ipairs({ 'wait', 'paused', 'active', 'delayed', 'repeat', 'ext:claim' }) do
  if call('EXISTS', P .. name) == 1 then
    return name
  end
end
local total, more = 0, 0
for _, state in ipairs({ 'completed', 'failed' }) do
  local key = P .. state
  local kind = call('TYPE', key).ok
  local ids = kind == 'zset' and call('ZRANGE', key, 0, count - 1) or kind == 'set' and call('SRANDMEMBER', key, count) or {}
  for _, id in ipairs(ids) do
    release_debounce(P, id)
    total = total + call('UNLINK', P .. id, P .. id .. ':logs', P .. id .. ':lock')
  end
  if ids[1] then
    call(kind == 'zset' and 'ZREM' or 'SREM', key, unpack(ids))
  end
  more = more + call('EXISTS', key)
end
if more > 0 then
  return { total, 1 }
end
local rest = {
  'id', 'meta-paused', 'meta', 'priority', 'stalled', 'stalled-check', 'limiter', 'limiter:index', 'limiter:limited',
  'metrics:completed', 'metrics:completed:data', 'metrics:failed', 'metrics:failed:data',
}
for i, name in ipairs(rest) do
  rest[i] = P .. name
end
return { total + call('UNLINK', unpack(rest)), 0 }
