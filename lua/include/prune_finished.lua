--- @include detach_child
--- @include remove_job_keys
-- Applies a keep rule to a finished set, age first: removes what is older than keep_age seconds, then all but
-- the newest keep_count. No `removed` event; deduplication keys stay.
local function prune_finished(P, set, now, keep_count, keep_age)
  local function drop(ids)
    for _, id in ipairs(ids) do
      local job_key = P .. id
      local link = call('HMGET', job_key, 'parentKey', 'parent')
      remove_job_keys(job_key)
      if link[1] then
        detach_child(P, job_key, link[1], link[2], false)
      end
    end
    return ids[1]
  end
  if keep_age then
    local cutoff = now - keep_age * 1000
    if drop(call('ZRANGEBYSCORE', set, '-inf', cutoff)) then
      call('ZREMRANGEBYSCORE', set, '-inf', cutoff)
    end
  end
  if keep_count > 0 and drop(call('ZREVRANGE', set, keep_count, -1)) then
    call('ZREMRANGEBYRANK', set, 0, -(keep_count + 1))
  end
end
