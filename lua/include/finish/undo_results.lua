--- @include undo_enter
-- Takes back the results of jobs that are still active.
local function undo_results(active, results)
  for run = #results.added, 1, -1 do
    local place, back = results.places[run], {}
    local ids = results.added[run]
    for i, id in ipairs(ids) do
      if call('LPOS', active, results.sources[run][i]) then
        back[#back + 1] = id
      end
    end
    if place and #back == #ids then
      undo_enter(place)
    elseif place then
      for _, id in ipairs(back) do
        call('LREM', place.key, '1', id)
      end
    end
    for _, id in ipairs(back) do
      call('UNLINK', results.P .. id)
    end
  end
end
