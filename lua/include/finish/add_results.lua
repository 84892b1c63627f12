--- @include add_runs
-- Adds the outcomes that were noted since the last time as jobs of the queue for results. Their jobs leave active after
-- that: if they cannot be added, no job of the call has finished.
local function add_results(results, fans_out)
  local runs = results.runs
  if runs[1] then
    results.runs, results.name = {}, nil
    add_runs(results.P, runs, #runs, {}, results.added, results.places, nil, fans_out)
  end
end
