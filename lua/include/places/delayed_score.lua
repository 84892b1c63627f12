-- Score for a job due at `due` ms, behind the jobs already due in that ms; returns score, last score of that ms.
-- `but` is an id that does not count: it is about to leave that place.
local function delayed_score(P, due, but)
  local low = due * 4096
  local high = low + 4095
  local found = call('ZREVRANGEBYSCORE', P .. 'delayed', high, low, 'WITHSCORES', 'LIMIT', 0, but and 2 or 1)
  local newest = found[2]
  if but and found[1] == but then
    newest = found[4]
  end
  return newest and math.min(newest + 1, high) or low, high
end
