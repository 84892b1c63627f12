--- @include attempt
--- @include release_parent_if_done
--- @include release_parent
-- A child failed for good: applies the policy in its `parent` field (see read_parent). Without a policy the parent
-- still waits for the child. If the parent cannot be moved, it still waits for the child as well.
local function fail_dependency(parent, child_key, reason, now)
  if not (parent.fpof or parent.cpof or parent.idof or parent.rdof)
    or call('SREM', parent.key .. ':dependencies', child_key) == 0 then
    return
  end
  local P, id, key = parent.P, parent.id, parent.key
  local function apply()
    if parent.fpof then
      call('ZADD', key .. ':unsuccessful', now, child_key)
      local text = 'child ' .. child_key .. ' failed'
      if call('ZSCORE', P .. 'waiting-children', id) then
        call('HSET', key, 'defa', text)
        release_parent(P, id, now, 'waiting-children')
      elseif call('ZSCORE', P .. 'delayed', id) then
        call('HSET', key, 'delay', '0', 'defa', text)
        release_parent(P, id, now, 'delayed')
      elseif call('EXISTS', key) == 1 and not call('ZSCORE', P .. 'failed', id) then
        call('HSET', key, 'defa', text)
      end
    elseif parent.cpof then
      call('HSET', key .. ':failed', child_key, reason)
      if call('ZSCORE', P .. 'waiting-children', id) then
        release_parent(P, id, now, 'waiting-children')
      end
    else
      if parent.idof then
        call('HSET', key .. ':failed', child_key, reason)
      end
      release_parent_if_done(P, id, now)
    end
  end
  attempt(apply, function()
    if call('ZSCORE', P .. 'waiting-children', id) then
      call('SADD', key .. ':dependencies', child_key)
    end
  end)
end
