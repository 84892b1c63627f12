-- What the limits of a call say; ARGV has `width` arguments for each, from `first` on: name, key, and what the script
-- needs more. Returns one table per limit that somebody has set: index (0-based, in ARGV), at (of its name in ARGV),
-- base (what its keys begin with), concurrency (or nil), rates: { most, window in ms } each.
local function read_limits(P, ARGV, first, width)
  local names, limits = {}, {}
  for at = first, #ARGV, width do
    names[#names + 1] = ARGV[at]
  end
  local settings = #names > 0 and call('HMGET', P .. 'ext:limits', unpack(names)) or {}
  for i, text in ipairs(settings) do
    if text then
      local limit = cjson.decode(text)
      limit.index, limit.at = i - 1, first + (i - 1) * width
      limit.base = P .. 'ext:limit-' .. ARGV[limit.at + 1] .. ':'
      limits[#limits + 1] = limit
    end
  end
  return limits
end
