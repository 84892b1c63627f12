-- Inserts behind all jobs of the same priority: a fresh counter value breaks the tie.
local function push_prioritized(P, id, priority)
  local counter = call('INCR', P .. 'pc')
  call('ZADD', P .. 'prioritized', priority * 4294967296 + counter % 4294967296, id)
end
