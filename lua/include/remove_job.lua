--- @include detach_child
--- @include remove_deduplication
--- @include remove_from_state
--- @include remove_job_keys
--- @include max_len_events
--- @include split_job_key
-- Remove a job and, with `children`, everything below it, whatever its state and queue.
-- The job leaves its parent first and its children leave it, so a waiting parent surfaces in `wait` before it goes:
-- BullMQ's order, visible in the events.
local function remove_job(P, id, children, seen)
  local job_key = P .. id
  seen[job_key] = true
  local fields = call('HMGET', job_key, 'parentKey', 'parent', 'deid')
  if fields[1] and call('EXISTS', fields[1]) == 1 then
    detach_child(P, job_key, fields[1], fields[2], false)
  end

  if children then
    for _, child_keys in ipairs({
      call('HKEYS', job_key .. ':processed'),
      call('HKEYS', job_key .. ':failed'),
      call('ZRANGE', job_key .. ':unsuccessful', 0, -1),
      call('SMEMBERS', job_key .. ':dependencies'),
    }) do
      for _, child_key in ipairs(child_keys) do
        if not seen[child_key] then
          local child_P, child_id = split_job_key(child_key)
          remove_job(child_P, child_id, true, seen)
        end
      end
    end
  end

  local state = remove_from_state(P, id)
  remove_deduplication(P, id, fields[3])
  if remove_job_keys(job_key) > 0 then
    call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P), '*', 'event', 'removed', 'jobId', id, 'prev', state)
  end
end
