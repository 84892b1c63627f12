-- Takes the elements at some positions out of a list, at most 1000 of them: each is blanked first, so that one pass
-- from that end removes them all.
local function remove_at(list_key, positions)
  if #positions == 0 then
    return
  end
  for _, position in ipairs(positions) do
    call('LSET', list_key, position, '')
  end
  call('LREM', list_key, positions[1] < 0 and -#positions or #positions, '')
end
