--- @include call_many
-- Moves the first `taken` of `ids` to active, as read_waiting found them: `waiting` of them are at the end of `wait`,
-- the others at the start of `prioritized`. They enter active before they leave their old place, and leave active again
-- if that fails, so no job is lost. `no_jobs`, if not false, has the positions of ids that are no jobs: these only
-- leave their place.
local function enter_active(P, ids, taken, waiting, scores, no_jobs)
  local wait_key, active_key, prioritized_key = P .. 'wait', P .. 'active', P .. 'prioritized'
  if taken == 1 and waiting > 0 and not no_jobs then
    call('LMOVE', wait_key, active_key, 'RIGHT', 'LEFT')
    return
  end
  local entering = {}
  for i = 1, taken do
    if not no_jobs or not no_jobs[i] then
      entering[#entering + 1] = ids[i]
    end
  end
  call_many('LPUSH', active_key, entering)
  local from_wait = math.min(taken, waiting)
  local ranked = taken - from_wait
  --- @include attempt
  attempt(function()
    if ranked > 0 then
      call('ZREMRANGEBYRANK', prioritized_key, '0', ranked - 1)
    end
    if from_wait > 0 then
      call('LTRIM', wait_key, '0', -from_wait - 1)
    end
  end, function()
    for i = 1, ranked do
      call('ZADD', prioritized_key, scores[i], ids[from_wait + i])
    end
    for i = 1, #entering do
      call('LREM', active_key, '1', entering[i])
    end
  end)
end
