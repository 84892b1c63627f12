-- A removed job gives up the deduplication key it owns, whatever its time to live.
local function remove_deduplication(P, id, deid)
  if deid then
    local key = P .. 'de:' .. deid
    if call('GET', key) == id then
      call('DEL', key)
    end
  end
end
