-- Counts the jobs of each given state.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    type... (wait, paused, active, prioritized, delayed, completed, failed, waiting-children, repeat;
--         `waiting` = wait alone)
-- Returns one integer per type, in order; 0 for an unknown type
-- Events  none
local call = redis.call
--- @include state_kind
--- @include count_list
local P = string.sub(KEYS[1], 1, -5)
local counts = {}
for n, state in ipairs(ARGV) do
  local kind, name = state_kind(state)
  if kind == 'list' then
    counts[n] = count_list(P .. name)
  elseif kind == 'zset' then
    counts[n] = call('ZCARD', P .. name)
  else
    counts[n] = 0
  end
end
return counts
