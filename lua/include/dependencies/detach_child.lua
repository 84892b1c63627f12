--- @include attempt
--- @include read_parent
--- @include move_jobs
--- @include get_target
--- @include add_marker
--- @include remove_job_keys
--- @include remove_deduplication
--- @include note_ready
-- Removes a child from its parent. If it was the last child, a waiting parent goes back to its queue or, with `hard`
-- and in the same queue, is removed as well. P is the prefix of the child's queue; parent_key and parent_json are the
-- child's fields (read before its hash is deleted). The parent's delay and priority are ignored, as in BullMQ. Returns
-- true if the child was a dependency. If the parent cannot be moved, the child stays a dependency.
local function detach_child(P, child_key, parent_key, parent_json, hard)
  local dependencies = (parent_key or '') .. ':dependencies'
  if dependencies == ':dependencies' or call('SREM', dependencies, child_key) == 0 then
    return false
  end
  local parent
  local function release()
    if call('SCARD', dependencies) > 0 then
      return
    end
    parent = read_parent(parent_key, parent_json)
    if not parent.P or not call('ZSCORE', parent.P .. 'waiting-children', parent.id) then
      return
    end
    if hard and parent.P == P then
      local fields = call('HMGET', parent_key, 'parentKey', 'parent', 'deid')
      detach_child(P, parent_key, fields[1], fields[2], true)
      call('ZREM', P .. 'waiting-children', parent.id)
      remove_job_keys(parent_key)
      remove_deduplication(P, parent.id, fields[3])
      return
    end
    local target, blocked = get_target(parent.P)
    move_jobs({ { ids = { parent.id }, key = target, push = 'RPUSH' } }, function()
      call('ZREM', parent.P .. 'waiting-children', parent.id)
    end)
    add_marker(parent.P, blocked)
    note_ready(parent.P, parent.id)
    if not hard then
      call('XADD', parent.P .. 'events', '*', 'event', 'waiting', 'jobId', parent.id, 'prev', 'waiting-children')
    end
  end
  attempt(release, function()
    if not (parent and parent.P) or call('ZSCORE', parent.P .. 'waiting-children', parent.id) then
      call('SADD', dependencies, child_key)
    end
  end)
  return true
end
