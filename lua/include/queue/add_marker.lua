-- Sets the marker that wakes one idle worker, unless the queue is paused or at its global concurrency (`blocked`).
local function add_marker(P, blocked)
  if not blocked then
    call('ZADD', P .. 'marker', '0', '0')
  end
end
