-- Gives a claimed job back to its place in the queue of Bull (see claim_job): a waiting one runs next.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, claim
-- Returns 1; 0 if the claim is not there any more
local call = redis.call
local P = string.sub(KEYS[1], 1, -5)
local id, claim = ARGV[1], ARGV[2]
local known = call('HGET', P .. 'ext:claim', id)
local found, place, score = string.match(known or '', '^(%S+) (%S+) ?(.*)$')
if found ~= claim then
  return 0
end
if place == 'wait' or place == 'paused' then
  if score ~= '' then
    call('ZADD', P .. 'priority', score, id)
  end
  call('RPUSH', P .. (call('EXISTS', P .. 'meta-paused') == 1 and 'paused' or 'wait'), id)
elseif place == 'active' then
  call('LPUSH', P .. 'active', id)
elseif score == '' then
  call('SADD', P .. place, id)
else
  call('ZADD', P .. place, score, id)
end
call('HDEL', P .. 'ext:claim', id)
if call('GET', P .. id .. ':lock') == claim then
  call('DEL', P .. id .. ':lock')
end
return 1
