-- How often each id stands in the older part of active, and that part, for a batch that removes a good deal of it: to
-- write it once is cheaper than a search per job. The part has all of `ids` or, as the third value tells, is all there is.
-- Nil when it is not cheaper: few ids, or far apart in a long list.
local function count_active(P, ids)
  local wanted = #ids
  if wanted < 16 then
    return nil
  end
  for _, length in ipairs({ math.floor(1.5 * wanted), 16 * wanted }) do -- a worker mostly finishes what it took first
    local part, left = call('LRANGE', P .. 'active', -length, '-1'), {}
    for i = 1, #part do
      left[part[i]] = (left[part[i]] or 0) + 1
    end
    local whole, found = #part < length, 0
    while found < wanted and left[ids[found + 1]] do
      found = found + 1
    end
    if whole or found == wanted then
      return left, part, whole
    end
  end
end
