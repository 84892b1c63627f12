-- The values of a target's field as a list; nil if they cannot be read. One text is a list of one.
local function target_values(value)
  if value == nil or value == cjson.null or value == '' then
    return {}
  elseif type(value) == 'string' then
    return { value }
  elseif type(value) ~= 'table' or (next(value) ~= nil and #value == 0) then
    return nil
  end
  for _, one in ipairs(value) do
    if type(one) ~= 'string' then
      return nil
    end
  end
  return value
end

-- Whether a worker has a wanted value. With `any_end`, `gpu:*` means each value that begins with `gpu:`.
local function is_held(wanted, held, any_end)
  local stem = any_end and string.sub(wanted, -1) == '*' and string.sub(wanted, 1, -2)
  for _, one in ipairs(held) do
    if one == wanted or stem and string.sub(one, 1, #stem) == stem then
      return true
    end
  end
  return false
end

local target_fields = { server = 1, stack = 1, capabilities = 1, region = 1, mode = 1, fallback = 1, fallback_after = 1 }
local listed_fields = { 'stack', 'capabilities', 'region' }

-- Whether a worker may take a job with this target, by the rules of the core (Target::matches). A target that cannot be
-- read is nobody's: a worker that guesses would take what is not for it.
local function matches_target(profile, target)
  if type(target) ~= 'table' then
    return false
  end
  for field in pairs(target) do
    if not target_fields[field] then
      return false
    end
  end
  local server, mode = target_values(target.server), target.mode
  if not server or #server > 1 then
    return false
  elseif server[1] then
    return server[1] == profile.server
  end
  mode = (mode == nil or mode == cjson.null) and 'all' or mode
  if mode ~= 'all' and mode ~= 'any' and mode ~= 'each' then
    return false
  end
  local given, met = 0, 0
  for _, field in ipairs(listed_fields) do
    local wanted = target_values(target[field])
    if not wanted then
      return false
    elseif wanted[1] then
      local held, common = target_values(profile[field]) or {}, 0
      for _, one in ipairs(wanted) do
        common = common + (is_held(one, held, field == 'capabilities') and 1 or 0)
      end
      local least = field == 'capabilities' and mode == 'all' and #wanted or 1
      given, met = given + 1, met + (common >= least and 1 or 0)
    end
  end
  return met == given or mode == 'any' and met > 0
end
