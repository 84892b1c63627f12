--- @include settle_parent
--- @include release_parent
-- A child failed for good: applies the one policy its `parent` field carries (see read_parent); with none the
-- parent goes on waiting for the child.
local function fail_dependency(parent, child_key, reason, now)
  if not (parent.fpof or parent.cpof or parent.idof or parent.rdof)
    or call('SREM', parent.key .. ':dependencies', child_key) == 0 then
    return
  end
  local P, id, key = parent.P, parent.id, parent.key
  if parent.fpof then
    call('ZADD', key .. ':unsuccessful', now, child_key)
    local text = 'child ' .. child_key .. ' failed'
    if call('ZREM', P .. 'waiting-children', id) == 1 then
      call('HSET', key, 'defa', text)
      release_parent(P, id, now)
    elseif call('ZREM', P .. 'delayed', id) == 1 then
      call('HSET', key, 'delay', '0', 'defa', text)
      release_parent(P, id, now)
    elseif call('EXISTS', key) == 1 and not call('ZSCORE', P .. 'failed', id) then
      call('HSET', key, 'defa', text)
    end
  elseif parent.cpof then
    call('HSET', key .. ':failed', child_key, reason)
    if call('ZREM', P .. 'waiting-children', id) == 1 then
      release_parent(P, id, now)
    end
  else
    settle_parent(P, id, now)
    if parent.idof then
      call('HSET', key .. ':failed', child_key, reason)
    end
  end
end
