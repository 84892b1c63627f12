-- Bring the jobs of `wait` and `paused` together under one of the two keys, in the order in which they would have run:
-- first those of `paused` (right end), then those of `wait`.
-- With one of the lists absent, which is always so unless version 6 clients share the queue, this is one RENAME or nothing.
local function join_waiting(P, list_key)
  local wait_key, paused_key = P .. 'wait', P .. 'paused'
  local waiting, paused = call('LLEN', wait_key), call('LLEN', paused_key)
  local joined_key = waiting == 0 and paused_key or wait_key
  if waiting > 0 and paused > 0 then
    -- Move the shorter list: the other may hold millions.
    if waiting < paused then
      joined_key = paused_key
      for last = -1, -waiting, -1000 do
        local ids = call('LRANGE', wait_key, last - 999, last)
        local reversed = {}
        for i = #ids, 1, -1 do
          reversed[#reversed + 1] = ids[i]
        end
        call('LPUSH', paused_key, unpack(reversed))
      end
      call('DEL', wait_key)
    else
      for first = 0, paused - 1, 1000 do
        call('RPUSH', wait_key, unpack(call('LRANGE', paused_key, first, first + 999)))
      end
      call('DEL', paused_key)
    end
  end
  if joined_key ~= list_key and waiting + paused > 0 then
    call('RENAME', joined_key, list_key)
  end
end
