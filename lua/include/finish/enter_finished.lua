-- Puts the only job of a call into its finished set; returns whether it was not there before. This is the first write
-- of the call, which fails here if the key has another type. A server that is out of memory refuses a first write that
-- takes memory, but none after one that takes none: so a trim lets a job finish there too, as in BullMQ.
local function enter_finished(P, batch, set_key, now, id)
  local added = redis.pcall('ZADD', set_key, now, id)
  if type(added) == 'table' then
    if not string.find(added.err, 'OOM', 1, true) then
      error(added.err, 0)
    end
    call('XTRIM', P .. 'events', 'MAXLEN', '~', max_len_events(P, batch.settings[5]))
    added = call('ZADD', set_key, now, id)
  end
  batch.entered[1] = { set_key, { now, id } }
  return added == 1
end
