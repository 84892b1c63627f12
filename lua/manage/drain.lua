-- Removes the jobs that wait to run, 250 per call. Running and finished jobs stay, delayed ones unless `delayed` is
-- set, and the next jobs of schedulers.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    delayed (1 = delayed jobs as well), kept... (what the last call returned, if this call continues it)
-- Returns {1 = there is more, kept...}: how many jobs of each state were read and stay
-- Events  none
local call = redis.call
--- @include discard_job
--- @include is_scheduled
--- @include remove_at
--- @include state_kind
local P = string.sub(KEYS[1], 1, -5)
local reply = { 0 }
local budget = 250
for n, state in ipairs({ 'wait', 'paused', 'prioritized', ARGV[1] == '1' and 'delayed' or nil }) do
  local kept = tonumber(ARGV[n + 1]) or 0
  local is_list = state_kind(state) == 'list'
  local key = P .. state
  local candidates = budget > 0 and call(is_list and 'LRANGE' or 'ZRANGE', key, kept, kept + budget - 1) or {}
  budget = budget - #candidates
  local ids, positions = {}, {}
  local first = kept
  for at, id in ipairs(candidates) do
    if string.sub(id, 1, 7) == 'repeat:' and is_scheduled(P, id, call('HGET', P .. id, 'rjk')) then
      kept = kept + 1
    else
      discard_job(P, id, true)
      ids[#ids + 1] = id
      positions[#positions + 1] = first + at - 1
    end
  end
  if is_list then
    remove_at(key, positions)
  elseif #ids > 0 then
    call('ZREM', key, unpack(ids))
  end
  reply[n + 1] = kept
end
reply[1] = budget == 0 and 1 or 0
return reply_or_error(reply)
