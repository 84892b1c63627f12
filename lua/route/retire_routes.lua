-- Retires routes that nobody uses: their places in the registry are free, and workers close their lanes. Such a route
-- has no unfinished job, no parent that waits, no scheduler, no pause, no limit and no fallback; for ten minutes no
-- producer has registered it, and it has had no event. A retired route keeps its finished jobs. Without any, its keys
-- go.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    most (how many routes at most), slug ('' = any; else this route alone, which was removed just now: however
-- young it is, also
--         with a fallback), now (ms; '' or none = the time of the server)
-- Returns how many routes have retired
-- Events  none
local call = redis.call
--- @include server_time
--- @include change_version
--- @include is_in_use
--- @include remove_route_keys
local P = string.sub(KEYS[1], 1, -5)
local Q = string.sub(P, 1, -2) .. '~'
local routes_key, seen_key, retired_key = P .. 'ext:routes', P .. 'ext:rseen', P .. 'ext:retired'
local most = assert(tonumber(ARGV[1]), 'most is not a number')
local only, now = ARGV[2], server_time(ARGV[3])

local function pairs_of(key)
  local flat, found = call('HGETALL', key), {}
  for i = 1, #flat, 2 do
    found[flat[i]] = flat[i + 1]
  end
  return found
end

local retiring, unseen = {}, {}
local function look(slug, entry, seen)
  local R = Q .. slug .. ':'
  if only ~= '' then
    return is_in_use(R) == false
  elseif not seen or seen > now then
    -- An older version has registered it, or the clock was set back.
    unseen[#unseen + 1] = slug
    return false
  elseif now - seen < IDLE or string.find(entry, '"fallback":', 1, true) or is_in_use(R) ~= false then
    return false
  end
  local newest = newest_event(R)
  return newest ~= nil and now - newest >= IDLE
end

local routes, seen = {}, {}
if only == '' then
  routes, seen = pairs_of(routes_key), pairs_of(seen_key)
else
  routes[only] = call('HGET', routes_key, only) or nil
end
for slug, entry in pairs(routes) do
  if #retiring < most and look(slug, entry, tonumber(seen[slug])) then
    retiring[#retiring + 1] = slug
  end
end

local time = string.format('%.0f', now)
for _, slug in ipairs(unseen) do
  call('HSET', seen_key, slug, time)
end
for slug in pairs(seen) do
  if not routes[slug] then
    call('HDEL', seen_key, slug)
  end
end
if not retiring[1] then
  return 0
end
for _, slug in ipairs(retiring) do
  if is_empty(Q .. slug .. ':') then
    remove_route_keys(Q .. slug .. ':') -- first: if the next step fails, they are made again by who uses the route
  end
end
-- First into the list of retired routes: in one of the two each name is always found.
for _, slug in ipairs(retiring) do
  call('HSET', retired_key, slug, time .. ' ' .. routes[slug])
end
change_version(P)
for _, slug in ipairs(retiring) do
  call('HDEL', routes_key, slug)
  call('HDEL', seen_key, slug)
end
return #retiring
