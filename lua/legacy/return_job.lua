-- Gives a claimed job back to its place in the queue of Bull (see claim_job): a waiting one runs next.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, claim
-- Returns 1; 0 if the claim is not there any more
local call = redis.call
--- @include move_jobs
local P = string.sub(KEYS[1], 1, -5)
local id, claim = ARGV[1], ARGV[2]
local known = call('HGET', P .. 'ext:claim', id)
local found, place, score = string.match(known or '', '^(%S+) (%S+) ?(.*)$')
if found ~= claim then
  return 0
end
local function leave()
  call('HDEL', P .. 'ext:claim', id)
end
if place == 'wait' or place == 'paused' then
  local key = P .. (call('EXISTS', P .. 'meta-paused') == 1 and 'paused' or 'wait')
  move_jobs({ { ids = { id }, key = key, push = 'RPUSH' } }, leave)
  if score ~= '' then
    call('ZADD', P .. 'priority', score, id)
  end
elseif place == 'active' then
  move_jobs({ { ids = { id }, key = P .. 'active', push = 'LPUSH' } }, leave)
elseif score ~= '' then
  move_jobs({ { ids = { id }, key = P .. place, scores = { score } } }, leave)
else -- a set of Bull 1 or 2
  call('SADD', P .. place, id)
  leave()
end
if call('GET', P .. id .. ':lock') == claim then
  call('DEL', P .. id .. ':lock')
end
return 1
