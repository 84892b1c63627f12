--- Stamps jobs that were claimed ahead and whose handlers have started since then.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    worker_name ("" = none), then per job: id, token, ats, processed_on
--- Returns the number of stamped jobs. A job is skipped if its token does not hold the lock, if its hash is gone, or if
---         its key or lock has another type.
--- Events  none

local P = string.sub(KEYS[1], 1, -5)
local worker_name = ARGV[1]
local stamped = 0
for at = 2, #ARGV - 3, 4 do
  local job_key = P .. ARGV[at]
  local reply = redis.pcall('GET', job_key .. ':lock')
  if reply == ARGV[at + 1] then
    reply = redis.pcall('HLEN', job_key)
    if type(reply) == 'number' and reply > 0 then -- a stamp alone would make a hash, which others took for a job
      local stamp = { 'ats', ARGV[at + 2], 'processedOn', ARGV[at + 3] }
      if worker_name ~= '' then
        stamp[5], stamp[6] = 'pb', worker_name
      end
      reply = redis.pcall('HSET', job_key, unpack(stamp))
      stamped = stamped + (type(reply) == 'number' and 1 or 0)
    end
  end
  if type(reply) == 'table' and not string.find(reply.err, 'WRONGTYPE', 1, true) then
    error(reply.err, 0)
  end
end
return stamped
