-- Whether a job may complete: 0, -4 if children are not done, -9 if children have failed, or the text of an error.
local function check_children(job_key)
  local pending = redis.pcall('SCARD', job_key .. ':dependencies')
  if type(pending) == 'table' then
    return pending.err
  elseif pending > 0 then
    return -4
  end
  local failed = redis.pcall('ZCARD', job_key .. ':unsuccessful')
  if type(failed) == 'table' then
    return failed.err
  end
  return failed > 0 and -9 or 0
end
