-- Removes the elements at the given positions from a list. Positions ascend and are all counted from the same end.
local function remove_at(list_key, positions)
  local first, last, count = positions[1], positions[#positions], #positions
  if not first then
    return
  end
  -- Elements at an end of the list are cut off. Others are set to '' first, so that one LREM from that end removes them
  -- all.
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
