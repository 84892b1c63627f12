--- Removes the markers of fan_out that are left when their jobs have been taken. A worker calls it after such a marker
--- woke it for nothing.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    none
--- Returns how many markers it removed. Without a job to run that is each marker except the one for delayed jobs.
---         While the queue is paused or at its global concurrency the marker `0` stays. Else none.
--- Events  none
local call = redis.call
--- @include get_target

local P = string.sub(KEYS[1], 1, -5)
local key = P .. 'marker'
if call('LLEN', P .. 'wait') == 0 and call('ZCARD', P .. 'prioritized') == 0 then
  return call('ZREMRANGEBYSCORE', key, '0', '0')
end
local _, blocked = get_target(P)
local first, last = call('ZSCORE', key, '0') and 1 or 0, call('ZCOUNT', key, '0', '0') - 1
if blocked and first <= last then
  return call('ZREMRANGEBYRANK', key, first, last) -- `0` comes before all others of its score
end
return 0
