-- The score of a job due at `due` ms, behind the jobs already due in that ms. Returns the score and the last score of
-- that ms. The id `except` does not count: it is about to leave the set.
local function delayed_score(P, due, except)
  local low = due * 4096
  local high = low + 4095
  local found = call('ZREVRANGEBYSCORE', P .. 'delayed', high, low, 'WITHSCORES', 'LIMIT', 0, except and 2 or 1)
  local newest = found[2]
  if except and found[1] == except then
    newest = found[4]
  end
  return newest and math.min(newest + 1, high) or low, high
end
