--- Stamps jobs that were claimed ahead and whose handlers have started meanwhile.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    worker_name ("" = none), then per job: id, token, ats, processed_on
--- Returns the number of stamped jobs; one that is not locked by its token (any more) is left alone. An error of one job comes
---         when all others are stamped
--- Events  none
local call = redis.call

local P = string.sub(KEYS[1], 1, -5)
local worker_name = ARGV[1]
local stamped, failed = 0, nil
for at = 2, #ARGV - 3, 4 do
  local job_key = P .. ARGV[at]
  if call('GET', job_key .. ':lock') == ARGV[at + 1] then
    local stamp = { 'ats', ARGV[at + 2], 'processedOn', ARGV[at + 3] }
    if worker_name ~= '' then
      stamp[5], stamp[6] = 'pb', worker_name
    end
    local done = redis.pcall('HSET', job_key, unpack(stamp))
    if type(done) == 'table' then
      failed = failed or done.err
    else
      stamped = stamped + 1
    end
  end
end
if failed then
  error(failed, 0)
end
return stamped
