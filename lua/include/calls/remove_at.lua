-- Takes the elements at some ascending positions out of a list, all counted from the same end.
local function remove_at(list_key, positions)
  local first, last, count = positions[1], positions[#positions], #positions
  if not first then
    return
  end
  -- A piece at the end is cut off. From among others they are blanked first, so that one pass from that end finds them.
  if first == 0 and last == count - 1 then
    call('LTRIM', list_key, count, -1)
  elseif last == -1 and first == -count then
    call('LTRIM', list_key, 0, first - 1)
  else
    for _, position in ipairs(positions) do
      call('LSET', list_key, position, '')
    end
    call('LREM', list_key, first < 0 and -count or count, '')
  end
end
