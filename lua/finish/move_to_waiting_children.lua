--- Moves an active job to waiting-children until its children are done. No attempt is counted.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    now, id, token ("0" = no lock check), child_key ("" = any child)
--- Returns 0 moved, 1 nothing to wait for (the job stays active), or -1 no such job, -9 failed children,
---         -2/-6 lock gone/not ours, -3 not active (lock deleted already)
--- Events  waiting-children (prev=active)
local call = redis.call
--- @include leave_active

local P = string.sub(KEYS[1], 1, -5)
local id, child_key = ARGV[2], ARGV[4]
if not tonumber(ARGV[1]) or not child_key then
  return redis.error_reply('ERR move_to_waiting_children: malformed arguments')
end
local job_key = P .. id
if call('EXISTS', job_key) == 0 then
  return -1
end
if call('ZCARD', job_key .. ':unsuccessful') > 0 then
  return -9
end
local pending
if child_key == '' then
  pending = call('SCARD', job_key .. ':dependencies')
else
  pending = call('SISMEMBER', job_key .. ':dependencies', child_key)
end
if pending == 0 then
  return 1
end
local code = check_active(P, id, ARGV[3])
if code == 0 or code == -3 then
  local place = { ids = { id }, key = P .. 'waiting-children', scores = { ARGV[1] } }
  code = leave_active(P, id, ARGV[3], code, place, {}, {})
end
if code ~= 0 then
  return code
end
call('XADD', P .. 'events', '*', 'event', 'waiting-children', 'jobId', id, 'prev', 'active')
drop_lock(P, id, ARGV[3])
return 0
