-- Writes the outcome of a job to its hash if the job is kept, with the stamp of a start that is not recorded yet.
-- Returns the number of attempts made, as text.
local function record_job(job_key, job, completed, is_kept, now, value, stacktrace, stamp)
  local attempts_made = job[2] or '1'
  if (job[2] or job[6]) and not job[5] then -- `finishedOn` in an active job: a stopped call has counted this attempt
    attempts_made = math.max(tonumber(job[2]) or 0, tonumber(job[6]) or 0) + 1 .. ''
  end
  if is_kept and completed then
    call('HSET', job_key, 'atm', attempts_made, 'returnvalue', value, 'finishedOn', now, unpack(stamp))
  elseif is_kept then
    call('HSET', job_key, 'atm', attempts_made, 'failedReason', value, 'stacktrace', stacktrace, 'finishedOn', now,
      unpack(stamp))
    call('HDEL', job_key, 'defa')
  end
  if is_kept and job[6] then -- Bull's count; where it stands, others do not see `atm`
    call('HDEL', job_key, 'attemptsMade')
  end
  return attempts_made
end
