-- Removes the jobs of one state whose time is not after `cutoff`. A pass reads candidates, 250 per call: completed and
-- failed jobs in the order in which they finished, other sets from their lowest score, lists from the next job to run.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    state, cutoff (ms), limit (candidates of the pass), kept, removed (both as the last call of the pass returned
--         them), and quiet: 1 = no event about a pass that removed nothing. For routes: an event is a use, and what is
--         used does not retire
-- Returns {1 = the pass continues, kept, removed, id...}: kept and removed of the pass so far, and the ids that this
--         call removed
-- Events  cleaned (count) at the end of the pass
local call = redis.call
--- @include discard_job
--- @include is_scheduled
--- @include remove_at
--- @include state_kind
local P = string.sub(KEYS[1], 1, -5)
local kind, state = state_kind(ARGV[1])
local cutoff = assert(tonumber(ARGV[2]), 'cutoff is not a number')
local limit = assert(tonumber(ARGV[3]), 'limit is not a number')
local kept = assert(tonumber(ARGV[4]), 'kept is not a number')
local removed = assert(tonumber(ARGV[5]), 'removed is not a number')
assert(kind, 'no such state')
local key = P .. state
local finished = state == 'completed' or state == 'failed'
local budget = math.min(limit - kept - removed, 250)

local candidates = {}
if budget > 0 and finished then
  candidates = call('ZRANGEBYSCORE', key, 0, cutoff, 'LIMIT', 0, budget)
elseif budget > 0 and kind == 'zset' then
  candidates = call('ZRANGE', key, kept, kept + budget - 1)
elseif budget > 0 then
  candidates = call('LRANGE', key, -(kept + budget), -(kept + 1))
end

-- Whether a job may be removed. A job without a hash, or without any time in it, is old enough. Which time counts
-- differs between the states in BullMQ.
local function may_go(id)
  local job_key = P .. id
  local fields = call('HMGET', job_key, 'timestamp', 'processedOn', 'finishedOn', 'rjk')
  local time = kind == 'list' and fields[3] or state ~= 'prioritized' and fields[2] or fields[1]
  return (tonumber(time) or 0) <= cutoff
    and not is_scheduled(P, id, fields[4])
    and not (state == 'active' and call('EXISTS', job_key .. ':lock') == 1)
end

local ids, positions = {}, {}
local before = kept + 1
for n, id in ipairs(candidates) do
  if finished or may_go(id) then
    discard_job(P, id, true)
    ids[#ids + 1] = id
    positions[#positions + 1] = n - #candidates - before
  else
    kept = kept + 1
  end
end
if #ids > 0 and kind == 'zset' then
  call('ZREM', key, unpack(ids))
elseif kind == 'list' then
  remove_at(key, positions)
end
removed = removed + #ids

local more = #candidates == budget and kept + removed < limit
if not more and (removed > 0 or ARGV[6] ~= '1') then
  call('XADD', P .. 'events', '*', 'event', 'cleaned', 'count', removed)
end
return reply_or_error({ more and 1 or 0, kept, removed, unpack(ids) })
