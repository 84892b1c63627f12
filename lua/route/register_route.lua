-- Registers a route of a queue, so that workers find it, and pauses it if it is new and the queue is paused.
-- KEYS[1] <prefix>:<queue>:meta
-- KEYS[2] <prefix>:<queue>~<slug>:meta, the route
-- ARGV    slug, target (canonical JSON), fallback_after ('' leaves the fallback of the route as it is, 0 removes it,
-- else ms),
--         fallback (JSON: "base" or a target), now (ms; '' or none = the time of the server)
-- Returns { 1, 1 = the route is new }; { 0, the registered target }: the slug belongs to another target; { -1 }: the
-- queue has 256
--         routes
-- Events  paused, of the route, if it is new and the queue is paused
local call = redis.call
--- @include server_time
--- @include list_route
--- @include follow_base
local MAX_ROUTES = 256
local P, R = string.sub(KEYS[1], 1, -5), string.sub(KEYS[2], 1, -5)
local slug, target, after = ARGV[1], ARGV[2], ARGV[3]
local routes_key = P .. 'ext:routes'
local known = call('HGET', routes_key, slug)
-- An entry is the target, with the fallback as its last members: so its beginning says which target it is.
local opened = string.sub(target, 1, -2)
if known and known ~= target and string.sub(known, 1, #opened + 12) ~= opened .. ',"fallback":' then
  return { 0, known }
end
if not known and call('HLEN', routes_key) >= MAX_ROUTES then
  return { -1 }
end

local entry = known or target
if after == '0' then
  entry = target
elseif after ~= '' then
  entry = opened .. ',"fallback":' .. ARGV[4] .. ',"fallback_after":' .. after .. '}'
end
local now = server_time(ARGV[5])
follow_base(P, R)
if entry ~= known then
  list_route(P, R, slug, entry, not known)
  if not known then
    call('HDEL', P .. 'ext:retired', slug)
  end
end
-- A route that is registered does not retire for a while. Without this step it may retire earlier, and comes back with
-- its next job: so what refuses it, such as a full memory, does not stop the caller, who may want to remove something.
redis.pcall('HSET', P .. 'ext:rseen', slug, string.format('%.0f', now))
return { 1, known and 0 or 1 }
