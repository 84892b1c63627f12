-- Looks at retired routes: those come back that are in use again, also if the registry is full, since their jobs need
-- workers. Those without any job are forgotten when nothing has happened in them for eight days.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    now (ms; '' = the time of the server), the slug of each route
-- Returns the slugs of those that have come back
-- Events  paused, of a route that comes back while the queue is paused
local call = redis.call
--- @include server_time
--- @include list_route
--- @include is_in_use
--- @include remove_route_keys
local FORGOTTEN = 8 * 86400000
local P = string.sub(KEYS[1], 1, -5)
local Q = string.sub(P, 1, -2) .. '~'
local routes_key, seen_key, retired_key = P .. 'ext:routes', P .. 'ext:rseen', P .. 'ext:retired'
local now = server_time(ARGV[1])

local function is_over(R, since)
  local newest = now - since >= FORGOTTEN and is_empty(R) and newest_event(R)
  return newest and now - newest >= FORGOTTEN
end

local revived = {}
for i = 2, #ARGV do
  local slug = ARGV[i]
  local R, found = Q .. slug .. ':', call('HGET', retired_key, slug)
  local since, entry = string.match(found or '', '^(%d+) (.*)$')
  if not found then
    -- It has come back, or was forgotten, meanwhile.
  elseif not entry or call('HEXISTS', routes_key, slug) == 1 then
    call('HDEL', retired_key, slug) -- a script was stopped here
  elseif is_in_use(R) then
    list_route(P, R, slug, entry, true)
    call('HSET', seen_key, slug, string.format('%.0f', now))
    call('HDEL', retired_key, slug)
    revived[#revived + 1] = slug
  elseif is_over(R, tonumber(since)) then
    remove_route_keys(R)
    -- The keys that `ext:named` names live shorter than this.
    call('DEL', R .. 'id', R .. 'ext:named')
    call('HDEL', retired_key, slug)
  end
end
return revived
