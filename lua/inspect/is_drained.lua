-- Whether a queue has nothing left to do: no job waits or runs, and no job becomes due within the horizon.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    now (ms), horizon (ms)
-- Returns 1 drained; 0 not
-- Events  none
local call = redis.call
--- @include count_list
local P = string.sub(KEYS[1], 1, -5)
local last_due = ARGV[1] + ARGV[2]
if
  count_list(P .. 'wait') > 0
  or count_list(P .. 'paused') > 0
  or count_list(P .. 'active') > 0
  or call('ZCARD', P .. 'prioritized') > 0
  -- A delayed score is the due millisecond times 4096 plus a sequence number below 4096.
  or call('ZCOUNT', P .. 'delayed', '-inf', (last_due + 1) * 4096 - 1) > 0
then
  return 0
end
return 1
