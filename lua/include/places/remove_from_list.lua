--- @include remove_at
-- The lists from which this call removes jobs: the number of searches, and after many searches the position of each id.
local lists = {}

-- Removes an id from `wait` or `paused`; returns whether it was there. A call removes each id once. A search per job is
-- quadratic for many children. So after 64 searches the list is read once, and positions are only noted: remove_noted
-- removes them. Until then jobs may enter the list at its tail, which changes no other position.
local function remove_from_list(list_key, id)
  local list = lists[list_key] or { searches = 0, noted = {} }
  lists[list_key] = list
  if not list.places then
    if list.searches < 64 then
      list.searches = list.searches + 1
      return call('LREM', list_key, 1, id) == 1
    end
    list.places, list.length = {}, call('LLEN', list_key)
    -- From the tail, so that of equal ids the one nearest the head counts, as with LREM 1.
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

-- Removes the noted positions. Called at the end of a script that uses remove_from_list.
local function remove_noted()
  for list_key, list in pairs(lists) do
    table.sort(list.noted)
    remove_at(list_key, list.noted)
  end
end
