-- The fields of a job that has never run and has only the six standard ones: { name, data, opts, timestamp, delay,
-- priority }; of another one nil. `hash` is the flat hash of the job.
-- The names of a hash with long values are in any order, but jobs that were added alike have one order: so the places
-- of the names are kept, and most jobs cost six comparisons.
local name_at, data_at, opts_at, timestamp_at, delay_at, priority_at = 1, 1, 1, 1, 1, 1
local function standard_job(hash)
  if #hash ~= 12 then
    return nil
  end
  if not (hash[name_at] == 'name' and hash[data_at] == 'data' and hash[opts_at] == 'opts'
    and hash[timestamp_at] == 'timestamp' and hash[delay_at] == 'delay' and hash[priority_at] == 'priority') then
    local at = {}
    for field = 1, 11, 2 do
      at[hash[field]] = field
    end
    if not (at.name and at.data and at.opts and at.timestamp and at.delay and at.priority) then
      return nil
    end
    name_at, data_at, opts_at = at.name, at.data, at.opts
    timestamp_at, delay_at, priority_at = at.timestamp, at.delay, at.priority
  end
  return { hash[name_at + 1], hash[data_at + 1], hash[opts_at + 1], hash[timestamp_at + 1], hash[delay_at + 1],
    hash[priority_at + 1] }
end
