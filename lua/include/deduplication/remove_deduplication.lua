-- Deletes the deduplication key of a removed job if the job owns it, also a key with a time to live.
local function remove_deduplication(P, id, deid)
  if deid then
    local key = P .. 'de:' .. deid
    if call('GET', key) == id then
      call('DEL', key)
    end
  end
end
