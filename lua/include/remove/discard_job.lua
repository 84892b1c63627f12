--- @include leave_parent
--- @include remove_deduplication
--- @include remove_job_keys
-- Deletes the keys of a job, except its lock, without an event. With `hard`, a parent in the same queue that has no
-- dependencies left is removed as well. The caller removes the id from its list or set. Returns how many keys existed.
local function discard_job(P, id, hard)
  local job_key = P .. id
  local fields = call('HMGET', job_key, 'parentKey', 'parent', 'deid')
  leave_parent(P, job_key, fields[1], fields[2], hard)
  remove_deduplication(P, id, fields[3])
  return remove_job_keys(job_key)
end
