--- Stamps jobs that were claimed ahead and whose handlers have started meanwhile.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    worker_name ("" = none), then per job: id, token, ats, processed_on
--- Returns the number of stamped jobs; one that is not locked by its token (any more) is left alone
--- Events  none
local call = redis.call

local P = string.sub(KEYS[1], 1, -5)
local worker_name = ARGV[1]
local stamped = 0
for at = 2, #ARGV - 3, 4 do
  local job_key = P .. ARGV[at]
  if call('GET', job_key .. ':lock') == ARGV[at + 1] then
    stamped = stamped + 1
    if worker_name ~= '' then
      call('HSET', job_key, 'ats', ARGV[at + 2], 'processedOn', ARGV[at + 3], 'pb', worker_name)
    else
      call('HSET', job_key, 'ats', ARGV[at + 2], 'processedOn', ARGV[at + 3])
    end
  end
end
return stamped
