--- @include call_many
--- @include delayed_score
-- Puts new jobs of one kind where workers take them, in order: N at a time leave what N adds leave.
-- `due` is in ms, false for jobs that may run now; events and markers are the caller's.
local function place_jobs(P, target, ids, due, priority, lifo)
  local new = #ids
  local members = {}
  if due then
    local score, last = delayed_score(P, tonumber(due))
    for i = 1, new do
      members[2 * i - 1] = score
      members[2 * i] = ids[i]
      score = math.min(score + 1, last)
    end
    call_many('ZADD', P .. 'delayed', members)
  elseif tonumber(priority) ~= 0 then
    local counter = call('INCRBY', P .. 'pc', new) - new
    for i = 1, new do
      members[2 * i - 1] = priority * 4294967296 + (counter + i) % 4294967296
      members[2 * i] = ids[i]
    end
    call_many('ZADD', P .. 'prioritized', members)
  else
    call_many(lifo and 'RPUSH' or 'LPUSH', target, ids)
  end
end
