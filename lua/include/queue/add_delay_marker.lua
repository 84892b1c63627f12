-- Sets the marker that tells an idle worker when the next delayed job is due (also while paused).
local function add_delay_marker(P)
  local first = call('ZRANGE', P .. 'delayed', '0', '0', 'WITHSCORES')
  if first[2] then
    call('ZADD', P .. 'marker', first[2] / 4096, '1')
  end
end
