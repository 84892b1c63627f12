--- @include call_many
--- @include find_in_active
--- @include max_len_events
-- Completes jobs, or fails them for good: those of all runs of move_to_finished, one after another. `run.set_key` is
-- `completed` or `failed`. See read_runs for what is in `batch`.
local function finish_runs(P, batch, ARGV)
  --- @include check_job
  --- @include record_job
  local now, max_points, worker_name = ARGV[1], tonumber(ARGV[2]), ARGV[8]
  local events, capped, job_keys, jobs = P .. 'events', batch.settings[2], batch.job_keys, #batch.ids
  local alone = jobs == 1
  local try = redis.pcall
  local index, as_fetched, tell_parent, detach_child, max_len = 0, { '1' }, nil, nil, nil

  for _, run in ipairs(batch.runs) do
    local completed, keep_count, count, width = run.completed, run.keep_count, run.count, run.width
    local outcome, field = run.target, completed and 'returnvalue' or 'failedReason'
    local token, plain_fields, shared_value, ats, at = run.token, run.plain_fields, run.value, run.ats, run.first
    -- A single job that completes and is kept is not searched for: the command that takes it out of active tells
    -- whether it was there. Seldom it was not, and then little is to be undone.
    local sought_last = alone and completed and keep_count < 0 and not run.keep_age and max_points == 0 and not capped
      and not batch.run_list and not batch.results
    local stamp = ats and { 'ats', ats, 'processedOn', '' } or {}
    if ats then
      at = at + 1
      if worker_name ~= '' then
        stamp[5], stamp[6] = 'pb', worker_name
      end
    end
    local entries, kept, finished = {}, 0, 0

    for i = 1, count do
      local id, value, stacktrace, attempts = ARGV[at], shared_value or ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
      if ats then
        stamp[4] = ARGV[at - 1]
      end
      at = at + width
      index = index + 1
      local job_key = job_keys[index]

      -- Check. `as_fetched` are the fields of a job with one start, no attempt made, no parent and no deduplication id.
      local job, attempts_made = as_fetched, nil
      if not plain_fields or try('HLEN', job_key) ~= plain_fields then
        job = try('HMGET', job_key, 'ats', 'atm', 'parentKey', 'deid', 'finishedOn', 'attemptsMade')
      end
      local sought = sought_last and job == as_fetched
      local code = check_job(batch, run, index, id, job, token, sought)

      if code == 0 then
        -- Record.
        finished = finished + 1
        if index == jobs then -- one trim per call leaves the same stream as one trim per job
          max_len = max_len_events(P, batch.settings[5])
          -- The trim comes before the events of this job. If it has only one, its XADD trims: to one entry more.
          if job[3] or job[4] or max_len == '0' or #max_len > 15 then
            call('XTRIM', events, 'MAXLEN', '~', max_len)
            max_len = nil
          end
        end
        local parent_json = job[3] and call('HGET', job_key, 'parent')
        if alone and keep_count ~= 0 then
          --- @include enter_finished
          local is_new = enter_finished(P, batch, run.set_key, now, id)
          batch.unsure = sought and { id = id, set_key = run.set_key, is_new = is_new, stamp = stamp }
        end
        local name = batch.results and (call('HGET', job_key, 'name') or '')
        attempts_made = record_job(job_key, job, completed, keep_count ~= 0, now, value, stacktrace, stamp)
        if batch.unsure then
          batch.unsure.recorded = true
        end
        if name then
          --- @include note_result
          note_result(P, batch.results, id, name, outcome, field, completed and value or cjson.encode(value),
            attempts_made, now)
        end
        if capped then -- the length of active decides about the jobs released below, so each job leaves at once
          if keep_count ~= 0 and not alone then
            call('ZADD', run.set_key, now, id)
            batch.entered[1] = { run.set_key, { now, id } }
          end
          if batch.run_list then
            --- @include list_in_run
            list_in_run(batch, { id })
          end
          if name then
            --- @include add_results
            add_results(batch.results, batch.fans_out)
          end
          call('LREM', batch.leaving.key, '-1', id)
          batch.entered[1] = nil
        end
        if job[4] then
          --- @include try_step
          --- @include release_deduplication
          try_step(batch, job_key, release_deduplication, P, id, job[4], now)
        end
        if job[3] then
          --- @include try_step
          if not tell_parent then
            --- @include make_parent_steps
            tell_parent, detach_child, batch.released_parents = make_parent_steps()
          end
          local failed = try_step(batch, job[3], tell_parent, now, job_key, job[3], parent_json, completed, value)
          -- A denied command stops the call, which is made again: nobody else would tell the parent. Not if the job
          -- has left active: then it would not be finished again.
          if failed and not capped then
            --- @include is_denial
            if is_denial(failed) then
              error(failed, 0)
            end
          end
        end
        if keep_count == 0 then
          --- @include remove_job_keys
          remove_job_keys(job_key)
          if job[3] then
            --- @include try_step
            try_step(batch, job[3], detach_child, P, job_key, job[3], parent_json, false)
          end
        else
          kept = kept + 1
          entries[2 * kept - 1], entries[2 * kept] = now, id
        end
      elseif code == -3 and not completed then -- as in BullMQ, the failure is recorded all the same
        call('HSET', job_key, 'failedReason', value, 'stacktrace', stacktrace)
      end

      -- The whole run enters its set before its last event, where a single job has its pruning.
      if i == count and kept > 0 then
        if not capped and not alone then
          batch.entered[#batch.entered + 1] = { run.set_key, entries }
          call_many('ZADD', run.set_key, entries)
        end
        if keep_count > 0 or run.keep_age then
          --- @include try_step
          --- @include prune_finished
          try_step(batch, run.set_key, prune_finished, P, run.set_key, now, keep_count, run.keep_age, kept)
        end
      end

      -- Announce.
      if code == 0 then
        local event
        if max_len then
          event = call('XADD', events, 'MAXLEN', '~', max_len + 1, '*', 'event', outcome, 'jobId', id, field, value,
            'prev', 'active')
        else
          event = call('XADD', events, '*', 'event', outcome, 'jobId', id, field, value, 'prev', 'active')
        end
        if not batch.first_event then
          batch.first_event = event
        end
        if not completed and tonumber(attempts_made) >= (tonumber(attempts) or 0) then
          call('XADD', events, '*', 'event', 'retries-exhausted', 'jobId', id, 'attemptsMade', attempts_made)
        end
        if batch.unsure and call('LREM', batch.leaving.key, '-1', id) == 0 then
          --- @include take_back
          take_back(P, batch)
          code, finished = -3, 0
        end
        batch.unsure = nil
      end
      if code ~= 0 then
        local refused = batch.refused
        refused[#refused + 1] = index - 1
        refused[#refused + 1] = code
      end
    end

    batch.finished = batch.finished or finished > 0
    if max_points > 0 and finished > 0 then
      --- @include collect_metrics
      collect_metrics(P, run.target, now, max_points, finished)
    end
  end

  if not capped then
    if batch.run_list and batch.finished then
      --- @include list_in_run
      list_in_run(batch, accepted_ids(batch))
    end
    if batch.results then
      --- @include add_results
      add_results(batch.results, batch.fans_out)
    end
    local leaving = batch.leaving
    if leaving.part[1] or leaving.far[1] then -- a job that was not searched for has left
      --- @include leave_active_batch
      leave_active_batch(leaving)
    end
  end
end
