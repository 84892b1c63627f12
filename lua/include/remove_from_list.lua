-- Remove the given ids from a list whose elements were read before; returns what is left.
-- `index_of` maps an id to its position in `elements`. One trim and one push of the tail, because a LREM per id is
-- quadratic when many ids of a long list go at once.
local function remove_from_list(list_key, elements, index_of, ids)
  if #ids == 0 then
    return elements
  end
  local first_gone = #elements + 1
  local gone = {}
  for _, id in ipairs(ids) do
    local index = index_of[id]
    gone[index] = true
    first_gone = math.min(first_gone, index)
  end

  local left = {}
  for index = 1, #elements do
    if not gone[index] then
      left[#left + 1] = elements[index]
    end
  end
  if first_gone == 1 then
    call('DEL', list_key)
  else
    call('LTRIM', list_key, 0, first_gone - 2)
  end
  for first = first_gone, #left, 1000 do
    call('RPUSH', list_key, unpack(left, first, math.min(first + 999, #left)))
  end
  return left
end
