-- Adds to `fields` that one more attempt of a job has ended. `older` is Bull's count, which the caller deletes when the
-- fields are written: BullMQ reads it instead of `atm`, and never counts it up.
local function count_attempt(P, id, atm, older, fields)
  local made = math.max(tonumber(atm) or 0, tonumber(older) or 0) + 1
  fields[#fields + 1], fields[#fields + 2] = 'atm', made
  if older and (tonumber(call('HGET', P .. id, 'ats')) or 0) < made then
    -- No job has more attempts than starts; see move_stalled_jobs_to_wait.
    fields[#fields + 1], fields[#fields + 2] = 'ats', made
  end
end
