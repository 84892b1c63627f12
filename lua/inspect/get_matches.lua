-- Reads fields of jobs, of those whose fields have certain texts, without sending the others.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    longest (longer fields are not read), most (bytes after which it stops), n fields, n x (field, a text that it
--         must have, or ""), id...
-- Returns { jobs looked at, bytes looked at, jobs with a field that is too long, id, { value or nil... }, id... }
-- Events  none
local call, find = redis.call, string.find

local P = string.sub(KEYS[1], 1, -5)
local longest, most, count = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local first = 4 + 2 * count
local looked_at, bytes, too_long, matches = 0, 0, 0, {}

--- The values of a job; nil if one has not its text. The second result says whether one is too long.
local function values_of(id)
  local values = {}
  for n = 1, count do
    local field, text = ARGV[2 * n + 2], ARGV[2 * n + 3]
    local length = call('HSTRLEN', P .. id, field)
    if length > longest then
      return nil, true
    end
    local value = call('HGET', P .. id, field)
    bytes = bytes + length
    if text ~= '' and not (value and find(value, text, 1, true)) then
      return nil
    end
    values[n] = value
  end
  return values
end

while first + looked_at <= #ARGV and bytes < most do
  local id = ARGV[first + looked_at]
  local values, is_too_long = values_of(id)
  if is_too_long then
    too_long = too_long + 1
  elseif values then
    matches[#matches + 1] = id
    matches[#matches + 1] = values
  end
  looked_at = looked_at + 1
end
return { looked_at, bytes, too_long, unpack(matches) }
