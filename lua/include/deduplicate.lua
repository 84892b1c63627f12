--- @include remove_job_keys
-- Gives a new job its deduplication key, or finds the job that has it: returns that job's id, nil if the new one is to be
-- stored. `rule` is { id, ttl, extend, replace, keep_last }; ttl 0 = none. `pending` is what to park for an owner that
-- is running (see create_pending): the fields name, data, opts and the parent's, flat.
local function deduplicate(P, id, rule, max_events, pending)
  local key = P .. 'de:' .. rule.id
  local ttl = not rule.keep_last and rule.ttl > 0 and rule.ttl -- the key of a job that keeps the last one lives until it finishes
  local owner = call('GET', key)
  if not owner then
    if ttl then
      call('SET', key, id, 'PX', ttl)
    else
      call('SET', key, id)
    end
    return nil
  end

  local events = P .. 'events'
  local function tell(kept, left)
    call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'debounced', 'jobId', kept, 'debounceId', rule.id)
    call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'deduplicated', 'jobId', kept,
      'deduplicationId', rule.id, 'deduplicatedJobId', left)
  end

  if rule.replace and call('ZREM', P .. 'delayed', owner) == 1 then
    remove_job_keys(P .. owner)
    call('XADD', events, '*', 'event', 'removed', 'jobId', owner, 'prev', 'delayed')
    tell(id, owner)
    if not ttl then
      call('SET', key, id)
    elseif rule.extend then
      call('SET', key, id, 'PX', ttl)
    else
      call('SET', key, id, 'KEEPTTL')
    end
    return nil
  end
  if rule.keep_last and call('LPOS', P .. 'active', owner) then
    local parked = P .. 'dn:' .. rule.id
    call('DEL', parked)
    call('HSET', parked, 'jid', id, unpack(pending))
    call('PERSIST', key)
    tell(owner, id)
    return owner
  end
  if not rule.replace then
    if rule.extend and ttl then
      call('SET', key, owner, 'PX', ttl)
    elseif rule.extend and rule.keep_last then
      call('PERSIST', key)
    end
    tell(owner, id)
  end
  return owner
end
