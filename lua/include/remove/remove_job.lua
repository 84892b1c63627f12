--- @include leave_parent
--- @include remove_deduplication
--- @include remove_from_state
--- @include remove_job_keys
--- @include max_len_events
--- @include split_job_key
local remove_job

-- Remove what is below a job: 'all' its children, or the 'unprocessed' ones that it still waits for, without those that a
-- worker has and those that have failed. None of it with false.
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
        if children == 'all' or not (call('EXISTS', child_key .. ':lock') == 1 or call('ZSCORE', P .. 'failed', id)) then
          remove_job(P, id, children, seen)
        end
      end
    end
  end
end

-- Remove a job and what is below it (see remove_children), whatever its state and queue.
-- The job leaves its parent first and its children leave it, so a waiting parent surfaces in `wait` before it goes:
-- BullMQ's order, visible in the events. Calls remove_noted when all is done.
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
