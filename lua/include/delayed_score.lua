-- Score for a job due at `due` ms, behind the jobs already due in that ms; returns score, last score of that ms.
local function delayed_score(P, due)
  local low = due * 4096
  local high = low + 4095
  local newest = call('ZREVRANGEBYSCORE', P .. 'delayed', high, low, 'WITHSCORES', 'LIMIT', 0, 1)
  if not newest[2] then
    return low, high
  end
  return math.min(newest[2] + 1, high), high
end
