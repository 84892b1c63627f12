--- @include max_len_events
--- @include add_delay_marker
--- @include delayed_score
--- @include make_ready
-- Make a job of a scheduler: its hash, its place and the scheduler's latest slot. `opts` is a JSON object to which the id
-- and the delay are added, and prev_millis unless it is "". `target, blocked, settings` are get_target's.
-- Returns the delay.
local function store_scheduler_job(P, scheduler_id, slot, job, target, blocked, settings)
  local due = string.format('%.0f', slot)
  local id = 'repeat:' .. scheduler_id .. ':' .. due
  local delay = string.format('%.0f', math.max(slot - job.now, 0))
  local own = '"jobId":' .. cjson.encode(id) .. ',"delay":' .. delay
  if job.prev_millis ~= '' then
    own = own .. ',"prevMillis":' .. job.prev_millis
  end
  local opts = string.sub(job.opts, 1, -2) .. (string.find(job.opts, '^{%s*}$') and '' or ',') .. own .. '}'
  local priority = string.format('%.0f', job.priority)
  local events, max_events = P .. 'events', max_len_events(P, settings[5])

  call('ZADD', P .. 'repeat', due, scheduler_id)
  call('INCR', P .. 'id')
  call('HSET', P .. id, 'name', job.name, 'data', job.data, 'opts', opts, 'timestamp', string.format('%.0f', job.now),
    'delay', delay, 'priority', priority, 'rjk', scheduler_id)
  if job.deid ~= '' then
    call('HSET', P .. id, 'deid', job.deid)
  end
  call('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', job.name)
  if delay ~= '0' then
    call('ZADD', P .. 'delayed', delayed_score(P, slot), id)
    call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'delayed', 'jobId', id, 'delay', due)
    add_delay_marker(P)
  else
    make_ready(P, id, job.priority, job.lifo and 'RPUSH' or 'LPUSH', target, blocked)
    call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'waiting', 'jobId', id)
  end
  return tonumber(delay)
end
