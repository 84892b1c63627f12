-- Notes the outcome of a job for the queue for results: as a run of add_runs, together with the one before if both jobs
-- have the same name. It is added before the job leaves active (see add_results).
local function note_result(P, results, id, name, outcome, field, value, attempts_made, now)
  local runs, encode = results.runs, cjson.encode
  if name ~= results.name then
    local at = #runs
    for i, part in ipairs({ 0, name, results.opts, now, '0', '0', '0', '0' }) do
      runs[at + i] = part
    end
    results.name, results.count_at = name, at + 1
    results.sources[#results.sources + 1] = {}
  end
  runs[results.count_at] = runs[results.count_at] + 1
  runs[#runs + 1] = '{"queue":' .. encode(string.match(P, '([^:]*):$')) .. ',"id":' .. encode(id) .. ',"name":'
    .. encode(name) .. ',"state":"' .. outcome .. '","attemptsMade":' .. attempts_made .. ',"finishedOn":' .. now
    .. ',"' .. field .. '":' .. value .. '}'
  local sources = results.sources[#results.sources]
  sources[#sources + 1] = id
end
