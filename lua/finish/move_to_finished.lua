--- Finishes jobs (completed, or failed for good) and fetches the next ones in the same call.
--- KEYS[1] <prefix>:<queue>:meta
--- KEYS[2] optional: <prefix>:<queue>:meta of another queue whose rate limit counts for the fetch
--- ARGV    now, metrics_max_points (0 = off), fetch_count (0 = do not fetch; -1 = neither, but set the marker if a job
---         can take a slot that becomes free), token, lock_duration, limiter_max, limiter_duration, worker_name, slots,
---         stalled_limit, alone; token and the arguments after it are for the fetch (see move_to_active), worker_name
---         also for the stamps; worker_run ("" = none): the ids of the jobs that finish are appended to the list
---         ext:run-<worker_run>, in the order of the call
---         [, "results", <prefix>:<queue>: of another queue in the same slot, opts_json]: each outcome is added to that
---         queue as a job with these options (see note_result). Then runs, one after another.
---         Run: count, target (completed|failed), token ("0" = no lock check), keep_count (-1 = all, 0 = none),
---         keep_age (seconds or ""), ats, plain_fields, returnvalue_json (of all jobs of the run; "" = each has its
---         own), then per job: processed_on (only if the run has ats), and
---           completed: id [, returnvalue_json]
---           failed:    id, failed_reason, stacktrace_json, attempts
---         ats: the number of this start, for jobs that were claimed ahead and are stamped only now; "" = already
---         stamped.
---         Then optional: "fan_out"; then several parents that are released, and jobs that are promoted and not
---         fetched, get the markers of fan_out.
---         Last, optional: "#number", the last element of the reply.
---         plain_fields: the number of fields in each job's hash after its fetch, if the fetch found only the standard
---         fields and no earlier start; "" = not known. A job that still has this number is checked with one HLEN.
--- Returns { { index, code, ... } of the refused jobs (0-based over all runs), limiter ttl ms, next due ms, hold
---         [, jobs[, scores]] }, the last ones as in move_to_active. Codes: -1 no such job, -2/-6 lock gone/not ours,
---         -3 not active, -4 pending dependencies, -9 failed children; or the text of an error about a key of the job.
---         If all jobs of a call are refused, it does not fetch. If a key of another job could not be changed, a last
---         element lists { key, error, ... }.
--- Events  completed or failed [, retries-exhausted] per job; those of released parents; added and waiting or delayed
---         of a job that was parked while the owner of its deduplication key ran; those of the fetch; drained
---
--- A job enters its finished set, and its outcome the queue for results, before it leaves active. If the call stops in
--- between, both are taken back and its events are deleted. Just before it leaves active, its id is listed in the
--- worker's run. The locks go last.
--- So after any refused command, the same call made again completes the work: an active job with `finishedOn` has its
--- attempt counted already; a locked job without a hash that is not to be kept was removed.
local call = redis.call
--- @include get_target
--- @include max_len_events
--- @include call_many
--- @include find_in_active
--- @include fetch_jobs
--- @include read_runs
--- @include finish_runs

-- Check: the form of the call, then what Redis holds. Nothing is written before all of it is read.
local P = string.sub(KEYS[1], 1, -5)
--- @include take_number
local batch, malformed = read_runs(P, ARGV)
if malformed then
  return redis.error_reply('ERR move_to_finished: malformed ' .. malformed)
end
local jobs = #batch.ids
for first = 1, jobs, 1000 do
  local holders = call('MGET', unpack(batch.lock_keys, first, math.min(first + 999, jobs)))
  for i = 1, #holders do
    batch.locks[first + i - 1] = holders[i]
  end
end
if jobs > 0 then
  --- @include find_rare_keys
  find_rare_keys(P, batch)
end
if jobs > 1 then -- one job enters its set before anything else is written
  for set_key in pairs(batch.sets) do -- fails here if the key is not a sorted set
    call('ZCARD', set_key)
  end
end
if batch.run_list then
  local kind = call('TYPE', batch.run_list).ok
  if kind ~= 'list' and kind ~= 'none' then
    return redis.error_reply('WRONGTYPE ' .. batch.run_list .. ' is a ' .. kind .. ', not the list of a run')
  end
  batch.new_run = kind == 'none'
end
local _, _, settings = get_target(P)
batch.settings, batch.leaving = settings, find_in_active(P, batch.ids)
if batch.new_run then
  --- @include note_key
  note_key(P, 'run-' .. ARGV[12])
end

-- Record and announce: one job after another, each checked first.
local done, failed = pcall(finish_runs, P, batch, ARGV)
if not done then
  --- @include undo_finish
  undo_finish(P, batch)
  error(failed, 0)
end

-- Release: the locks.
local released_keys = batch.released_keys
for first = 1, batch.released, 1000 do
  call('DEL', unpack(released_keys, first, math.min(first + 999, batch.released)))
end
if batch.released > 0 and batch.may_be_marked then -- seldom
  local released_ids = {}
  for i = 1, batch.released do
    released_ids[i] = string.sub(released_keys[i], #P + 1, -6)
  end
  call_many('SREM', P .. 'stalled', released_ids)
end

-- Wake: a worker per released parent.
if batch.fans_out and batch.released_parents then
  --- @include fan_out_noted
  fan_out_noted(batch.released_parents)
end

-- Fetch: the next jobs.
local reply, idle = { batch.refused }, true
if batch.fetch_count > 0 and (batch.finished or jobs == 0) then
  idle = fetch_jobs(P, reply, settings, ARGV[1], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], batch.fetch_count,
    tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11] == '1', batch.fans_out, KEYS[2] and string.sub(KEYS[2], 1, -5),
    nil, batch.first_delayed)
else
  reply[2], reply[3], reply[4] = 0, 0, 0
  if batch.fetch_count < 0 and batch.finished then
    --- @include leave_slots
    leave_slots(P, settings)
  end
end
if idle and batch.finished and call('LLEN', P .. 'wait') == 0 and call('LLEN', P .. 'active') == 0
  and call('ZCARD', P .. 'prioritized') == 0 then
  call('XADD', P .. 'events', '*', 'event', 'drained')
end
if batch.errors[1] then
  reply[5], reply[6], reply[7] = reply[5] or false, reply[6] or false, batch.errors
end
reply[#reply + 1] = number
return reply
