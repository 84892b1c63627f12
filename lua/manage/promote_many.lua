-- Moves delayed jobs with these ids to where they may run now: N ids in one call leave what N calls of promote leave.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    how many ids (at most 1000), id... [, "fan_out" (see fan_out)]
-- Returns the positions, from 1, of the ids whose jobs are not delayed; nothing is done for these
-- Events  per job: waiting (jobId, prev=delayed)
local call = redis.call
--- @include get_target
local P = string.sub(KEYS[1], 1, -5)
local count = assert(tonumber(ARGV[1]), 'the number of ids is not a number')
local ids, others, seen = {}, {}, {}
for i = 1, count do
  local id = ARGV[i + 1]
  if not seen[id] and call('ZSCORE', P .. 'delayed', id) then
    seen[id], ids[#ids + 1] = true, id
  else
    others[#others + 1] = i
  end
end
if ids[1] then
  --- @include promote_ids
  local target, blocked = get_target(P)
  promote_ids(P, ids, target, blocked)
  if ARGV[count + 2] then
    --- @include fan_out
    fan_out(P, blocked, ids)
  end
end
return others
