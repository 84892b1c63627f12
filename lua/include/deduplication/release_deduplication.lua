-- A finished job gives up the deduplication key it owns; one with a time to live outlives the job. What was parked while
-- it ran is added now, also when the key was removed meanwhile.
local function release_deduplication(P, id, deid, now)
  local key = P .. 'de:' .. deid
  local owner = call('GET', key)
  if owner and owner ~= id then
    return
  end
  if call('EXISTS', P .. 'dn:' .. deid) == 1 then
    --- @include add_parked_job
    if add_parked_job(P, deid, now) then
      return
    end
  end
  if owner and call('PTTL', key) == -1 then
    call('DEL', key)
  end
end
