--- @include move_jobs
-- Joins the jobs of `wait` and `paused` under one of the two keys, in the order in which they run: first those of
-- `paused` (right end), then those of `wait`.
-- If one of the lists is absent, this is one RENAME or nothing. Both exist only if version 6 clients share the queue.
-- Each part of a list enters the other list before it leaves its own.
local function join_waiting(P, list_key)
  local wait_key, paused_key = P .. 'wait', P .. 'paused'
  local waiting, paused = call('LLEN', wait_key), call('LLEN', paused_key)
  local joined_key = waiting == 0 and paused_key or wait_key
  if waiting > 0 and paused > 0 then
    -- Move the shorter list: the other may hold millions.
    if waiting < paused then
      joined_key = paused_key
      while true do
        local ids = call('LRANGE', wait_key, -1000, -1)
        if not ids[1] then
          break
        end
        local reversed = {}
        for i = #ids, 1, -1 do
          reversed[#reversed + 1] = ids[i]
        end
        move_jobs({ { ids = reversed, key = paused_key, push = 'LPUSH' } }, function()
          call('LTRIM', wait_key, 0, -#ids - 1)
        end)
      end
    else
      while true do
        local ids = call('LRANGE', paused_key, 0, 999)
        if not ids[1] then
          break
        end
        move_jobs({ { ids = ids, key = wait_key, push = 'RPUSH' } }, function()
          call('LTRIM', paused_key, #ids, -1)
        end)
      end
    end
  end
  if joined_key ~= list_key and waiting + paused > 0 then
    call('RENAME', joined_key, list_key)
  end
end
