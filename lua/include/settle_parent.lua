--- @include release_parent
-- Releases a waiting parent once its last dependency is gone.
local function settle_parent(P, id, now)
  local job_key = P .. id
  if call('SCARD', job_key .. ':dependencies') == 0 and call('EXISTS', job_key) == 1
    and call('ZREM', P .. 'waiting-children', id) == 1 then
    release_parent(P, id, now)
  end
end
