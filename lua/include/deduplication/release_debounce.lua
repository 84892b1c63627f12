-- Lets Bull add a job with the same debounce id again, as when a job ends: a key with a time to live lasts for its
-- time.
local function release_debounce(P, id)
  local debounce_id = redis.pcall('HGET', P .. id, 'deid')
  if type(debounce_id) == 'string' then
    local key = P .. 'de:' .. debounce_id
    if call('PTTL', key) == -1 and redis.pcall('GET', key) == id then
      call('DEL', key)
    end
  end
end
