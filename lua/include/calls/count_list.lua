-- The length of a state's list, without the wake-up marker ("0:...") that a version 4 client may have left at its tail.
local function count_list(list_key)
  local length = call('LLEN', list_key)
  local tail = length > 0 and call('LINDEX', list_key, -1)
  if tail and string.sub(tail, 1, 2) == '0:' then
    return length - 1
  end
  return length
end
