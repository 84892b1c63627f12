--- @include add_delay_marker
--- @include add_marker
--- @include attempt
--- @include get_target
--- @include max_len_events
--- @include move_jobs
--- @include ready_place
--- @include release_debounce
-- Moves a job to another queue in the same slot: whatever command is refused, it is in exactly one of them. `job` has
--   id, new_id, place (wait, front, prioritized, delayed, completed or failed), score (the priority, or the score),
--   parts (the keys that a job has besides its hash: what follows the hash's name),
--   rewrite(new_key) makes the copied hash what the other queue needs; undo() takes back what else it has written,
--   leave() takes the job out of its old place.
-- Notes in `job` what announce_change needs.
local function change_queue(P, T, job)
  local id, new_id, place = job.id, job.new_id, job.place
  local job_key, new_key = P .. id, T .. new_id
  local target, blocked, settings = get_target(T)
  job.max_len = max_len_events(T, settings[5])
  job.waits = place == 'wait' or place == 'front' or place == 'prioritized'
  local entry = { ids = { new_id }, key = T .. place, scores = { job.score } }
  if job.waits then
    entry = ready_place(T, new_id, job.score, place == 'front' and 'RPUSH' or 'LPUSH', target)
    add_marker(T, blocked) -- first, since a marker without a job does no harm
  end
  local number = string.find(new_id, '^[1-9]%d*$') and #new_id < 16 and tonumber(new_id)
  if number and number > (tonumber(call('GET', T .. 'id') or 0) or 0) then
    call('SET', T .. 'id', new_id)
  end
  local old_keys, new_keys = { job_key, job_key .. ':lock' }, { new_key }
  for i = 1, #job.parts do
    old_keys[i + 2], new_keys[i + 1] = job_key .. job.parts[i], new_key .. job.parts[i]
  end
  attempt(function()
    call('COPY', job_key, new_key)
    job.rewrite(new_key)
    for i = 1, #job.parts do
      call('COPY', old_keys[i + 2], new_keys[i + 1])
    end
    move_jobs({ entry }, job.leave)
  end, function()
    call('UNLINK', unpack(new_keys))
    if job.undo then
      job.undo()
    end
  end)
  -- The job has moved. Traces that an error leaves here do no harm.
  release_debounce(P, id)
  call('UNLINK', unpack(old_keys))
end

-- Adds the events of a job that has moved, and the marker of a delayed one.
local function announce_change(T, job)
  local events, max_len, id = T .. 'events', job.max_len, job.new_id
  if not job.waits and job.place ~= 'delayed' then
    return
  end
  call('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', call('HGET', T .. id, 'name') or '')
  if job.waits then
    call('XADD', events, 'MAXLEN', '~', max_len, '*', 'event', 'waiting', 'jobId', id)
  else
    local time = string.format('%.0f', math.floor(job.score / 4096))
    call('XADD', events, 'MAXLEN', '~', max_len, '*', 'event', 'delayed', 'jobId', id, 'delay', time)
    add_delay_marker(T)
  end
end
