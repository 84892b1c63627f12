-- Calls a command on a hash. Returns nil if the key has another type: such an id is no job, and must not stop other
-- jobs.
local function on_hash(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply.err then
    if not string.find(reply.err, 'WRONGTYPE', 1, true) then
      error(reply.err, 0) -- Redis 6.2 takes no table here
    end
    return nil
  end
  return reply
end
