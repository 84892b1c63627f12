-- Calls command(key, value...) for a list of any length, in parts: unpack has a limit.
local function call_many(command, key, values)
  for from = 1, #values, 1000 do
    call(command, key, unpack(values, from, math.min(from + 999, #values)))
  end
end
