--- @include attempt
--- @include legacy_target
-- Adds a job of Bull: its hash, its place, and what is published about it. If Redis refuses a command, nothing is
-- added. `place` has `due` in ms, 0 for a job that may run now, and `number`, or `priority`, or `push`.
local function add_legacy_job(P, id, fields, place, publish)
  local target = legacy_target(P)
  attempt(function()
    call('HSET', P .. id, unpack(fields))
    if place.due > 0 then
      call('ZADD', P .. 'delayed', place.due * 4096 + place.number % 4096, id)
    elseif place.priority > 0 then
      -- The order is that of the list: the job goes behind those of its priority, so before the element at their
      -- number.
      call('ZADD', P .. 'priority', place.priority, id)
      local ahead = call('ZCOUNT', P .. 'priority', 0, place.priority) - 1
      local behind = call('LINDEX', target, call('LLEN', target) - ahead)
      if behind then
        call('LINSERT', target, 'BEFORE', behind, id)
      else
        call('RPUSH', target, id)
      end
    else
      call(place.push, target, id)
    end
    publish()
  end, function()
    -- These are commands that were not refused; a key of another type has no such job.
    redis.pcall('LREM', target, 1, id)
    redis.pcall('ZREM', P .. 'priority', id)
    redis.pcall('ZREM', P .. 'delayed', id)
    call('UNLINK', P .. id)
  end)
end
