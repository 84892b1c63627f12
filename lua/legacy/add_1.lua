-- Adds a job to a queue of Bull 1.x.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    data (JSON), options (JSON), timestamp, delay, due (ms; 0 = it may run now), attempts, lifo (1 or 0)
-- Returns the id and 1
-- Publishes <prefix>:<queue>:jobs the id, or <prefix>:<queue>:delayed when the job is due
local call = redis.call
--- @include new_legacy_id
--- @include add_legacy_job
local P = string.sub(KEYS[1], 1, -5)
local data, opts, timestamp, delay, due, attempts = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local number, id = new_legacy_id(P, '')
local fields = {
  'data', data, 'opts', opts, 'progress', 0, 'delay', delay, 'timestamp', timestamp, 'attempts', attempts,
  'attemptsMade', 0, 'stacktrace', '[]', 'returnvalue', 'null',
}
local place = { due = due, number = number, priority = 0, push = ARGV[7] == '1' and 'RPUSH' or 'LPUSH' }
add_legacy_job(P, id, fields, place, function()
  call('PUBLISH', P .. (due > 0 and 'delayed' or 'jobs'), due > 0 and due or id)
end)
return { id, 1 }
