-- Reads fields of jobs, of those whose fields have certain texts, without sending the others.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    longest (longer data is not read), most (bytes after which it stops), n fields, n x (field, a text that it
--         must have, or ""), id...
-- Returns { jobs looked at, jobs whose data is too long, id, { value or nil... }, id... }
-- Events  none
local call, find = redis.call, string.find

local P = string.sub(KEYS[1], 1, -5)
local longest, most, count = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local first = 4 + 2 * count
local at, bytes, too_long, matches = first, 0, 0, {}

--- The values of a job; nil if one has not its text, or is too long.
local function values_of(key)
  local values = {}
  for n = 1, count do
    local field, text = ARGV[2 * n + 2], ARGV[2 * n + 3]
    if field == 'data' and call('HSTRLEN', key, field) > longest then
      too_long = too_long + 1
      return nil
    end
    local value = call('HGET', key, field)
    bytes = bytes + #(value or '')
    if text ~= '' and not (value and find(value, text, 1, true)) then
      return nil
    end
    values[n] = value
  end
  return values
end

while at <= #ARGV and bytes < most do
  local values = values_of(P .. ARGV[at])
  if values then
    matches[#matches + 1] = ARGV[at]
    matches[#matches + 1] = values
  end
  at = at + 1
end
return { at - first, too_long, unpack(matches) }
