--- @include attempt
--- @include move_jobs
--- @include ready_place
--- @include max_len_events
--- @include add_delay_marker
--- @include add_marker
--- @include delayed_score
--- @include move_waiting
--- @include write_hash
-- Stores a job of a scheduler: its hash, its place and the scheduler's latest slot; all of it or nothing. `job.opts` is
-- a JSON object to which the id and the delay are added, and prev_millis unless it is "". `target, blocked, settings`
-- are the results of get_target. `replaced`, if not nil, is the job that waits, which becomes the new one: { id, slot,
-- from, is_set }, the last two from find_waiting. Adds the events and the marker, too. Returns the delay.
local function store_scheduler_job(P, scheduler_id, slot, job, target, blocked, settings, replaced)
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

  local fields = { 'name', job.name, 'data', job.data, 'opts', opts, 'timestamp', string.format('%.0f', job.now),
    'delay', delay, 'priority', priority, 'rjk', scheduler_id }
  if job.deid ~= '' then
    fields[#fields + 1], fields[#fields + 2] = 'deid', job.deid
  end
  local place = ready_place(P, id, job.priority, job.lifo and 'RPUSH' or 'LPUSH', target)
  if delay ~= '0' then
    place = { ids = { id }, key = P .. 'delayed', scores = { (delayed_score(P, slot, id)) } }
  end

  if replaced and replaced.id == id then
    write_hash(P .. id, fields)
    move_waiting(id, replaced.from, replaced.is_set, place)
    call('ZADD', P .. 'repeat', due, scheduler_id)
  else
    call('HSET', P .. id, unpack(fields))
    attempt(function()
      move_jobs({ place }, function()
        call('ZADD', P .. 'repeat', due, scheduler_id)
        if replaced and replaced.is_set then
          call('ZREM', replaced.from, replaced.id)
        elseif replaced then
          call('LREM', replaced.from, -1, replaced.id)
        end
      end)
    end, function()
      call('UNLINK', P .. id)
      if replaced and call('ZSCORE', P .. 'repeat', scheduler_id) ~= replaced.slot then
        call('ZADD', P .. 'repeat', replaced.slot, scheduler_id)
      end
    end)
    if replaced then
      call('UNLINK', P .. replaced.id)
    end
  end

  call('INCR', P .. 'id')
  call('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', job.name)
  if delay ~= '0' then
    call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'delayed', 'jobId', id, 'delay', due)
    add_delay_marker(P)
  else
    add_marker(P, blocked)
    call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'waiting', 'jobId', id)
  end
  return tonumber(delay)
end
