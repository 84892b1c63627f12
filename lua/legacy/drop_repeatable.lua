-- Removes a repeatable of Bull and its pending job: another server or slot has it as a job scheduler now.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    repeatable (the member of `repeat`), next (ms, as text), from (delayed, wait, paused, or active if its worker
-- died before
--         it made the next one), pending_id ('' without a pending job), seen_opts (its options as they were seen)
-- Returns 1; 0 the repeatable is not there any more, or it or its job has changed
local call = redis.call
--- @include attempt
--- @include find_pending
local P = string.sub(KEYS[1], 1, -5)
local repeatable, next, from, pending_id, seen_opts = unpack(ARGV)
if not seen_opts then
  return redis.error_reply('ERR drop_repeatable: malformed arguments')
end
if not find_pending(P, repeatable, next, from, pending_id, seen_opts) then
  return 0
end
attempt(function()
  leave_places(P, repeatable, from, pending_id)
end, function()
  call('ZADD', P .. 'repeat', next, repeatable)
end)
forget_pending(P, pending_id)
return 1
