--- @include delayed_score
--- @include add_delay_marker
-- Gives a delayed owner of a deduplication key the delay of the job that is left out; see deduplicate.
local function reschedule(P, owner, rule, max_events, undo)
  local delayed, job_key = P .. 'delayed', P .. owner
  local score = call('ZSCORE', delayed, owner)
  if not score then
    return
  end
  local due = rule.timestamp + rule.delay
  local delay = call('HGET', job_key, 'delay')
  undo[#undo + 1] = function()
    call('ZADD', delayed, score, owner)
    call('HSET', job_key, 'delay', delay or '0')
  end
  call('ZADD', delayed, (delayed_score(P, due)), owner)
  call('HSET', job_key, 'delay', rule.delay)
  call('XADD', P .. 'events', 'MAXLEN', '~', max_events, '*', 'event', 'delayed', 'jobId', owner, 'delay',
    string.format('%.17g', due))
  add_delay_marker(P)
end
