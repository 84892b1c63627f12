-- Deletes all keys of a job except its lock; returns how many existed.
local function remove_job_keys(job_key)
  return call('DEL', job_key, job_key .. ':logs', job_key .. ':dependencies', job_key .. ':processed',
    job_key .. ':failed', job_key .. ':unsuccessful')
end
