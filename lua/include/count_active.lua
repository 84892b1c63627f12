-- How often each id stands in active, and the list itself, for a batch that removes a good part of it: to write the
-- list once is cheaper than a search per job. Nil when it is not: small batches, long lists.
local function count_active(P, removals)
  local active = P .. 'active'
  if removals < 16 or call('LLEN', active) > 16 * removals then
    return nil
  end
  local ids = call('LRANGE', active, '0', '-1')
  local left = {}
  for i = 1, #ids do
    left[ids[i]] = (left[ids[i]] or 0) + 1
  end
  return left, ids
end
