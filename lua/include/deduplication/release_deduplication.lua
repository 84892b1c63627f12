-- Releases the deduplication key of a finished job; a key with a time to live stays. A job that was parked while this
-- one ran is added now, also if the key was removed in the meantime.
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
