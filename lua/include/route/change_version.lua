-- Lets workers read the registry of routes again. The number begins with the time, so that a registry which is removed
-- and made again never has a number that a worker knows. What is no number is replaced.
local function change_version(P)
  local call = redis.call
  local key = P .. 'ext:rver'
  local version = call('TYPE', key).ok == 'string' and call('GET', key)
  if version and string.match(version, '^%d+$') and #version <= 18 then
    call('INCR', key)
  else
    local time = call('TIME')
    call('SET', key, string.format('%.0f', time[1] * 1000000 + time[2]))
  end
end
