-- Looks for keys that most calls do not find: those of children, `stalled` and, if the call fetches, `delayed`. One
-- EXISTS for all of them is one command less for each; only if one of them exists they are asked one by one.
local function find_rare_keys(P, batch)
  local keys, children = batch.rare_keys, #batch.rare_keys
  keys[children + 1] = P .. 'stalled'
  if batch.fetch_count > 0 then
    keys[children + 2] = P .. 'delayed'
  end
  local function count(last)
    local found = 0
    for first = 1, last, 1000 do
      found = found + call('EXISTS', unpack(keys, first, math.min(first + 999, last)))
    end
    return found
  end

  local found = count(#keys)
  if batch.fetch_count > 0 then
    batch.first_delayed = false
    if found > 0 then
      local first = redis.pcall('ZRANGE', P .. 'delayed', '0', '0', 'WITHSCORES')
      if first.err then -- the fetch fails with it, when the jobs of this call have finished
        batch.first_delayed = nil
      elseif first[2] then
        batch.first_delayed, found = first[2], found - 1
      end
    end
  end
  batch.may_be_marked = found > 0
  batch.has_children = found > 0 and children > 0 and count(children) > 0
end
