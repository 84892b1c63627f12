-- Schedules the next job of a repeatable in a queue of Bull, as a worker does that takes the job before, or the first one
-- of a new repeatable.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    repeatable (the member of `repeat`), time of the job before (ms; '' = a program adds the repeatable, whether it
--         exists or not), time of the next (ms), its id, field, value...
-- Returns 1; 0 a worker has done it, or the repeatable was removed
-- Publishes <prefix>:<queue>:delayed the time of the next job
local call = redis.call
--- @include attempt
local P = string.sub(KEYS[1], 1, -5)
local repeatable, before, next, id = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
if (not before and ARGV[2] ~= '') or not next or #ARGV < 6 or #ARGV % 2 ~= 0 then
  return redis.error_reply('ERR schedule_repeatable: malformed arguments')
end
if before and tonumber(call('ZSCORE', P .. 'repeat', repeatable)) ~= before then
  return 0
end
local number = call('INCR', P .. 'id')
if call('EXISTS', P .. id) == 0 then
  call('HSET', P .. id, unpack(ARGV, 5))
  attempt(function()
    call('ZADD', P .. 'delayed', string.format('%.0f', next * 4096 + number % 4096), id)
  end, function()
    call('UNLINK', P .. id)
  end)
  call('PUBLISH', P .. 'delayed', ARGV[3])
end
call('ZADD', P .. 'repeat', ARGV[3], repeatable) -- last: until then the same call does what is left
return 1
