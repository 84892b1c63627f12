--- @include change_version
-- Writes a route into the registry of its base; a new one is paused if the base is. Every step may be made again.
local function list_route(P, R, slug, entry, is_new)
  local call = redis.call
  if is_new and call('HEXISTS', P .. 'meta', 'paused') == 1 and call('HEXISTS', R .. 'meta', 'paused') == 0 then
    --- @include pause_queue
    pause_queue(R) -- it may hold jobs of a producer that does not register
  end
  change_version(P) -- it must not be the step that is missing
  call('HSET', P .. 'ext:routes', slug, entry)
end
