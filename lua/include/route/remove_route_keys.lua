-- Removes the keys of a route without any job. Its counter is left: if the route comes back, no id of a job comes
-- again.
local function remove_route_keys(R)
  local keys = {}
  for i, name in ipairs({
    'events', 'delay', 'stalled-check', 'stalled', 'pc', 'meta', 'marker',
    'metrics:completed', 'metrics:completed:data', 'metrics:failed', 'metrics:failed:data',
  }) do
    keys[i] = R .. name
  end
  redis.call('DEL', unpack(keys))
end
