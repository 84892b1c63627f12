-- Gives a new job its deduplication key, or finds the owner of the key. Returns the owner's id, or nil if the new job
-- is to be stored. `rule` is { id, ttl, extend, replace, keep_last, reschedule, timestamp, delay }; ttl 0 = none; the
-- last two are those of the new job. `pending` are the fields to park if the owner is running: name, data, opts and
-- those of the parent, flat. Functions that undo the changes are appended to `undo`. If the new job replaces the owner,
-- the second result is the owner's id, and the third a function to call when the new job is in its place. The caller
-- deletes the keys of the old job last, since that cannot be undone. `of_6`: see follows_6.
local function deduplicate(P, id, rule, max_events, pending, undo, of_6)
  local key = P .. 'de:' .. rule.id
  local ttl = not rule.keep_last and rule.ttl > 0 and rule.ttl -- with keep_last, the key lives until its owner finishes
  local owner = call('GET', key)
  -- In BullMQ 6 a job takes over a key whose owner is gone. In BullMQ 5 such a key, if it has no time to live, stays.
  local score = owner and rule.replace and call('ZSCORE', P .. 'delayed', owner)
  local stale = of_6 and owner and not score and call('EXISTS', P .. owner) == 0 and call('PTTL', key) == -1
  if not owner or stale then
    if ttl then
      call('SET', key, id, 'PX', ttl)
    else
      call('SET', key, id)
    end
    undo[#undo + 1] = function()
      if stale then
        call('SET', key, owner)
      else
        call('DEL', key)
      end
    end
    return nil
  end

  local events = P .. 'events'
  local function announce(kept, left)
    if not of_6 then
      call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'debounced', 'jobId', kept, 'debounceId', rule.id)
    end
    call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'deduplicated', 'jobId', kept,
      'deduplicationId', rule.id, 'deduplicatedJobId', left)
  end

  if score then
    call('XADD', events, '*', 'event', 'removed', 'jobId', owner, 'prev', 'delayed')
    announce(id, owner)
    return nil, owner, function()
      local left = call('PTTL', key)
      if not ttl then
        call('SET', key, id)
      elseif rule.extend then
        call('SET', key, id, 'PX', ttl)
      else
        call('SET', key, id, 'KEEPTTL')
      end
      undo[#undo + 1] = function()
        if left > 0 then
          call('SET', key, owner, 'PX', left)
        else
          call('SET', key, owner)
        end
      end
      undo[#undo + 1] = function()
        call('ZADD', P .. 'delayed', score, owner)
      end
      call('ZREM', P .. 'delayed', owner)
    end
  end
  if rule.keep_last and call('LPOS', P .. 'active', owner) then
    local parked = P .. 'dn:' .. rule.id
    call('HSET', parked, 'jid', id, unpack(pending))
    call('HDEL', parked, 'rjk', unpack(pending[7] and {} or { 'pk', 'pd', 'pdk' }))
    call('PERSIST', key)
    announce(owner, id)
    return owner
  end
  if not rule.replace then
    if rule.extend and ttl then
      call('SET', key, owner, 'PX', ttl)
    elseif rule.extend and rule.keep_last then
      call('PERSIST', key)
    end
    announce(owner, id)
    if rule.reschedule then
      --- @include reschedule
      reschedule(P, owner, rule, max_events, undo)
    end
  end
  return owner
end
