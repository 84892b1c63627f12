-- A finished child runs again, so its parent depends on it again: takes back the outcome that the parent recorded.
local function relink_parent(job_key, parent_key, state)
  if not parent_key or call('EXISTS', parent_key) == 0 then
    return
  end
  local recorded
  if state == 'completed' then
    recorded = call('HDEL', parent_key .. ':processed', job_key)
  else
    recorded = call('ZREM', parent_key .. ':unsuccessful', job_key)
    if recorded == 0 then
      recorded = call('HDEL', parent_key .. ':failed', job_key)
    end
  end
  if recorded == 1 then
    call('SADD', parent_key .. ':dependencies', job_key)
  end
end
