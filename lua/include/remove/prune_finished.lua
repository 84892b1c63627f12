--- @include remove_job_keys
-- Applies a keep rule to a finished set, age first: removes jobs older than keep_age seconds, then all but the newest
-- keep_count. No `removed` event; deduplication keys stay. Each rule removes the oldest jobs, at most 500 more than
-- have just been added: if a rule became stricter, the next finished jobs remove the rest.
-- An error about a parent of a removed job is raised when all are removed.
local function prune_finished(P, set, now, keep_count, keep_age, added)
  local most = 500 + added
  local failed
  local function drop(ids)
    if not ids[1] then
      return
    end
    --- @include detach_child
    for _, id in ipairs(ids) do
      local job_key = P .. id
      local link = call('HMGET', job_key, 'parentKey', 'parent')
      remove_job_keys(job_key)
      if link[1] then
        local done, refused = pcall(detach_child, P, job_key, link[1], link[2], false)
        failed = failed or not done and refused
      end
    end
    call('ZREMRANGEBYRANK', set, 0, #ids - 1)
  end
  if keep_age then
    drop(call('ZRANGEBYSCORE', set, '-inf', now - keep_age * 1000, 'LIMIT', 0, most))
  end
  local excess = keep_count > 0 and call('ZCARD', set) - keep_count or 0
  if excess > 0 then
    drop(call('ZREVRANGE', set, -math.min(excess, most), -1))
  end
  if failed then
    error(failed, 0)
  end
end
