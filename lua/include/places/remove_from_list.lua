--- @include remove_at
-- Lists from which this call has taken many jobs: how many, and after the first ones where the others stand.
local lists = {}

-- Take an id out of `wait` or `paused`; returns whether it was there. A call takes each id once.
-- A search per job is quadratic over many children, so after 64 searches the list is read once, and what leaves it is
-- only noted: remove_noted takes it out. Meanwhile jobs may join the list at its tail, which moves nobody else.
local function remove_from_list(list_key, id)
  local list = lists[list_key] or { searches = 0, noted = {} }
  lists[list_key] = list
  if not list.places then
    if list.searches < 64 then
      list.searches = list.searches + 1
      return call('LREM', list_key, 1, id) == 1
    end
    list.places, list.length = {}, call('LLEN', list_key)
    -- From the tail, so that of equal ids the one nearest the head stays known, as with LREM 1.
    for first = list.length - 1 - (list.length - 1) % 1000, 0, -1000 do
      local ids = call('LRANGE', list_key, first, math.min(first + 999, list.length - 1))
      for i = #ids, 1, -1 do
        list.places[ids[i]] = first + i - 1
      end
    end
  end
  local place = list.places[id]
  if place then
    list.noted[#list.noted + 1] = place
    return true
  end
  return call('LLEN', list_key) > list.length and call('LREM', list_key, -1, id) == 1
end

-- At the end of a call that has used remove_from_list.
local function remove_noted()
  for list_key, list in pairs(lists) do
    table.sort(list.noted)
    remove_at(list_key, list.noted)
  end
end
