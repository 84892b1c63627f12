--- @include leave_parent
--- @include remove_deduplication
--- @include remove_job_keys
-- Deletes the keys of a job when a whole state is emptied: without an event, and together with a parent in the same
-- queue that has no dependencies left. The caller removes the id from the list or set of the state.
local function discard_job(P, id)
  local job_key = P .. id
  local fields = call('HMGET', job_key, 'parentKey', 'parent', 'deid')
  leave_parent(P, job_key, fields[1], fields[2], true)
  remove_deduplication(P, id, fields[3])
  remove_job_keys(job_key)
end
