-- A finished job gives up the deduplication key it owns; one with a time to live outlives the job.
local function release_deduplication(P, id, deid)
  if deid then
    local key = P .. 'de:' .. deid
    if call('GET', key) == id and call('PTTL', key) == -1 then
      call('DEL', key)
    end
  end
end
