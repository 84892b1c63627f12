--- @include leave_parent
--- @include remove_deduplication
--- @include remove_from_state
--- @include remove_job_keys
--- @include max_len_events
--- @include split_job_key
local remove_job

-- Removes the children of a job, and theirs: 'all' children, or the 'unprocessed' ones, which the job still waits for
-- and which are neither locked nor failed. With false, none.
local function remove_children(job_key, children, seen)
  local groups = children and { call('SMEMBERS', job_key .. ':dependencies') } or {}
  if children == 'all' then
    groups = {
      call('HKEYS', job_key .. ':processed'),
      call('HKEYS', job_key .. ':failed'),
      call('ZRANGE', job_key .. ':unsuccessful', 0, -1),
      groups[1],
    }
  end
  for _, child_keys in ipairs(groups) do
    for _, child_key in ipairs(child_keys) do
      if not seen[child_key] then
        local P, id = split_job_key(child_key)
        if children == 'all'
          or not (call('EXISTS', child_key .. ':lock') == 1 or call('ZSCORE', P .. 'failed', id)) then
          remove_job(P, id, children, seen)
        end
      end
    end
  end
end

-- Removes a job and its children (see remove_children), in any state and queue. The script calls remove_noted at its
-- end. The job leaves its parent first, then its children leave it. So a waiting parent enters `wait` before it is
-- removed: this order is BullMQ's and is visible in the events.
remove_job = function(P, id, children, seen)
  local job_key = P .. id
  seen[job_key] = true
  local fields = call('HMGET', job_key, 'parentKey', 'parent', 'deid')
  leave_parent(P, job_key, fields[1], fields[2], false)
  remove_children(job_key, children, seen)

  local state = remove_from_state(P, id)
  remove_deduplication(P, id, fields[3])
  if remove_job_keys(job_key) > 0 then
    call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P), '*', 'event', 'removed', 'jobId', id, 'prev', state)
  end
end
