-- A time in ms as an argument has it; '' is the time of the server.
local function server_time(given)
  if (given or '') ~= '' then
    return assert(tonumber(given), 'the time is not a number')
  end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
