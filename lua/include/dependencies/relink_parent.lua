-- A finished child runs again, so its parent depends on it again: adds the dependency, then removes the outcome that
-- the parent has recorded.
local function relink_parent(job_key, parent_key, state)
  if not parent_key or call('EXISTS', parent_key) == 0 then
    return
  end
  local dependencies = parent_key .. ':dependencies'
  local function take_back(exists, remove, key)
    local found = call(exists, key, job_key)
    if found and found ~= 0 then
      call('SADD', dependencies, job_key)
      call(remove, key, job_key)
      return true
    end
  end
  if state == 'completed' then
    take_back('HEXISTS', 'HDEL', parent_key .. ':processed')
  elseif not take_back('ZSCORE', 'ZREM', parent_key .. ':unsuccessful') then
    take_back('HEXISTS', 'HDEL', parent_key .. ':failed')
  end
end
