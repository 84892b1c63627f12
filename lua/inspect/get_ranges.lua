-- Reads the ids of each given state between two positions, newest or (asc) next to run first.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    start, end (inclusive, applied to each type; -1 = last), asc, type... (as in get_counts)
-- Returns the ids of all types, one type after another, each id once
-- Events  none
local call = redis.call
--- @include state_kind
local P = string.sub(KEYS[1], 1, -5)
local start, stop, ascending = ARGV[1], ARGV[2], ARGV[3] == '1'
local ids, seen = {}, {}

for n = 4, #ARGV do
  local kind, name = state_kind(ARGV[n])
  local found = {}
  if kind == 'zset' then
    found = call(ascending and 'ZRANGE' or 'ZREVRANGE', P .. name, start, stop)
  elseif kind == 'list' and ascending then
    -- The next job to run is at the right end: position i from there is index -1 - i, and the range is reversed.
    local backwards = call('LRANGE', P .. name, -1 - stop, -1 - start)
    for i = #backwards, 1, -1 do
      found[#found + 1] = backwards[i]
    end
  elseif kind == 'list' then
    found = call('LRANGE', P .. name, start, stop)
  end
  for _, id in ipairs(found) do
    if not seen[id] and string.sub(id, 1, 2) ~= '0:' then
      seen[id] = true
      ids[#ids + 1] = id
    end
  end
end
return ids
