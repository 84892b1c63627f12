--- @include leave_parent
--- @include remove_deduplication
--- @include remove_job_keys
-- Delete the keys of a job whose whole state is being emptied: no event, and a parent left without dependencies in the
-- same queue goes with it. The caller takes the id out of the state's list or set.
local function discard_job(P, id)
  local job_key = P .. id
  local fields = call('HMGET', job_key, 'parentKey', 'parent', 'deid')
  leave_parent(P, job_key, fields[1], fields[2], true)
  remove_deduplication(P, id, fields[3])
  remove_job_keys(job_key)
end
