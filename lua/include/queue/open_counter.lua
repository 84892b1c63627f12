-- Opens the counter of the jobs that a batch really added: a table with `total` and `store`; or an error reply if
-- another program uses its key. Only `store` writes: one command, which is done or refused as a whole, after a note of
-- the key.
local function open_counter(P, batch)
  local key = P .. 'ext:enq-' .. batch
  local stored = redis.pcall('GET', key)
  local failed = type(stored) == 'table'
  if failed and not string.find(stored.err, 'WRONGTYPE') then
    return stored
  end
  local total = not failed and tonumber(stored or 0)
  if not total then
    return redis.error_reply('WRONGTYPE ' .. key .. ' does not hold the count of a batch: another program uses this key')
  end
  local counter = { total = total }
  function counter.store()
    if counter.total > total then
      if total == 0 then
        --- @include note_key
        note_key(P, 'enq-' .. batch)
      end
      call('SET', key, string.format('%d', counter.total), 'EX', 604800)
    end
  end
  return counter
end
