-- Looks at retired routes: those come back that are in use again, also if the registry is full, since their jobs need
-- workers. Those whose last job is gone lose their keys when nothing has happened in them for ten minutes, and are
-- forgotten eight days later.
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
  elseif is_empty(R) then
    local newest = newest_event(R)
    if newest and now - math.max(newest, tonumber(since)) >= FORGOTTEN then
      remove_route_keys(R)
      -- The keys that `ext:named` names live shorter than this.
      call('DEL', R .. 'id', R .. 'ext:named')
      call('HDEL', retired_key, slug)
    elseif newest and now - newest >= IDLE and call('EXISTS', R .. 'events', R .. 'meta') > 0 then
      if newest > 0 then -- without its events the list alone knows since when nothing has happened
        call('HSET', retired_key, slug, string.format('%.0f', newest) .. ' ' .. entry)
      end
      remove_route_keys(R)
    end
  end
end
return revived
