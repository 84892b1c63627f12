--- @include read_parent
--- @include get_target
--- @include add_marker
--- @include remove_job_keys
--- @include remove_deduplication
-- A child disappears from its parent; the last one to go sends a waiting parent back to its queue or, when
-- `hard` and in the same queue, removes it as well. P is the prefix of the child's queue; parent_key and
-- parent_json are the child's fields (read before its hash is deleted). The parent's delay and priority are
-- ignored, as in BullMQ. Returns true if the child was a dependency.
local function detach_child(P, child_key, parent_key, parent_json, hard)
  if not parent_key or parent_key == '' or call('SREM', parent_key .. ':dependencies', child_key) == 0 then
    return false
  end
  if call('SCARD', parent_key .. ':dependencies') > 0 then
    return true
  end
  local parent = read_parent(parent_key, parent_json)
  if not parent.P or call('ZREM', parent.P .. 'waiting-children', parent.id) == 0 then
    return true
  end
  if hard and parent.P == P then
    local fields = call('HMGET', parent_key, 'parentKey', 'parent', 'deid')
    detach_child(P, parent_key, fields[1], fields[2], true)
    remove_job_keys(parent_key)
    remove_deduplication(P, parent.id, fields[3])
    return true
  end
  local target, blocked = get_target(parent.P)
  call('RPUSH', target, parent.id)
  add_marker(parent.P, blocked)
  if not hard then
    call('XADD', parent.P .. 'events', '*', 'event', 'waiting', 'jobId', parent.id, 'prev', 'waiting-children')
  end
  return true
end
