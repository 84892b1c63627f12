-- Ends a claim (see claim_job): the job is in its new queue, and leaves that of Bull.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, claim, mirrored (1: the job's hash stays, for callers that wait for its end)
-- Returns 1; 0 if the claim is not there any more
local call = redis.call
--- @include release_debounce
local P = string.sub(KEYS[1], 1, -5)
local id, claim, mirrored = ARGV[1], ARGV[2], ARGV[3] == '1'
local job_key, claims = P .. id, P .. 'ext:claim'
if string.match(call('HGET', claims, id) or '', '^%S+') ~= claim then
  return 0
end
if not mirrored then
  release_debounce(P, id)
  call('DEL', job_key, job_key .. ':logs')
end
if call('GET', job_key .. ':lock') == claim then
  call('DEL', job_key .. ':lock')
end
call('HDEL', claims, id) -- last: until then the same call does what is left
return 1
