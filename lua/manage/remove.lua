-- Removes a job in any state and, with remove_children, all its children.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id, remove_children [, state, finished_on ("" for a job that has not finished): only if it is still so]
-- Returns 1 (also for an unknown id, unless a state is given); 0 the job, or with remove_children a job it waits for, is locked by a worker;
--         -8 the job is a scheduler's current iteration; -1 no such job, -3 it is not in that state any more
-- Events  per removed job, in its own queue: removed (jobId, prev=name of the key that held it or unknown);
--         waiting (jobId, prev=waiting-children) for a parent that loses its last dependency
local call = redis.call
--- @include is_scheduled
--- @include is_locked
--- @include remove_job
local P = string.sub(KEYS[1], 1, -5)
local id, children = ARGV[1], ARGV[2] == '1'
local job_key = P .. id
if ARGV[3] then
  --- @include check_seen
  local code = check_seen(P, id, ARGV[3], ARGV[4])
  if code < 0 then
    return code
  end
end
if is_scheduled(P, id, call('HGET', job_key, 'rjk')) then
  return -8
end
if is_locked(job_key, children, {}) then
  return 0
end
remove_job(P, id, children and 'all', {})
remove_noted()
return reply_or_error(1)
