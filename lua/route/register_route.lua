-- Registers a route of a queue, so that workers find it, and pauses it if the queue is paused.
-- KEYS[1] <prefix>:<queue>:meta
-- KEYS[2] <prefix>:<queue>~<slug>:meta, the route
-- ARGV    slug, target (canonical JSON), fallback_after ('' leaves the fallback of the route as it is, 0 removes it, else ms),
--         fallback (JSON: "base" or a target)
-- Returns { 1 }; { 0, the registered target }: the slug belongs to another target; { -1 }: the queue has 256 routes
-- Events  paused, of the route, if it is new and the queue is paused
local call = redis.call
--- @include join_waiting
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
if entry == known then
  return { 1 }
end
if not known and call('HEXISTS', KEYS[1], 'paused') == 1 and call('HEXISTS', KEYS[2], 'paused') == 0 then
  -- As manage/pause does it: the route may hold jobs of a producer that does not register.
  call('DEL', R .. 'marker')
  join_waiting(R, R .. 'paused')
  call('HSET', KEYS[2], 'paused', 1)
  call('XADD', R .. 'events', '*', 'event', 'paused')
end
-- Workers read the registry again when this number changes: it must not be the step that is missing. It begins with the time, so
-- that a registry which is removed and made again never has a number that a worker knows. What is no number is replaced.
local version_key = P .. 'ext:rver'
local version = call('TYPE', version_key).ok == 'string' and call('GET', version_key)
if version and string.match(version, '^%d+$') and #version <= 18 then
  call('INCR', version_key)
else
  local time = call('TIME')
  call('SET', version_key, string.format('%.0f', time[1] * 1000000 + time[2]))
end
call('HSET', routes_key, slug, entry)
return { 1 }
