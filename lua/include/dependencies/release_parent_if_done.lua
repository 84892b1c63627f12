--- @include release_parent
-- Releases a parent in waiting-children that has no dependency left.
local function release_parent_if_done(P, id, now)
  local job_key = P .. id
  if call('SCARD', job_key .. ':dependencies') == 0 and call('EXISTS', job_key) == 1
    and call('ZSCORE', P .. 'waiting-children', id) then
    release_parent(P, id, now, 'waiting-children')
  end
end
