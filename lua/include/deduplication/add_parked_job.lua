--- @include attempt
--- @include enter_place
--- @include undo_enter
--- @include get_target
--- @include max_len_events
--- @include add_marker
--- @include add_delay_marker
--- @include place_jobs
--- @include priority_of
-- Adds the job that was parked under a deduplication id while the owner of the key ran. It becomes the owner. Returns
-- false if a job with its id exists: then nothing is added.
local function add_parked_job(P, deduplication_id, now)
  local parked_key = P .. 'dn:' .. deduplication_id
  local parked = call('HMGET', parked_key, 'jid', 'name', 'data', 'opts', 'pk', 'pd', 'rjk')
  local id, events = parked[1], P .. 'events'
  if call('EXISTS', P .. id) == 1 then
    call('DEL', parked_key)
    call('INCR', P .. 'id')
    call('XADD', events, '*', 'event', 'duplicated', 'jobId', id)
    return false
  end

  local readable, opts = pcall(cjson.decode, parked[4])
  opts = readable and type(opts) == 'table' and opts or {}
  local delay, priority = tonumber(opts.delay) or 0, priority_of(opts.priority)
  local due = delay > 0 and string.format('%.17g', now + delay)
  local fields = {
    'name', parked[2], 'data', parked[3], 'opts', parked[4], 'timestamp', now,
    'delay', string.format('%.17g', delay), 'priority', string.format('%.17g', priority), 'deid', deduplication_id,
  }
  if parked[7] then
    fields[#fields + 1], fields[#fields + 2] = 'rjk', parked[7]
  end
  local dependencies = parked[5] and call('EXISTS', parked[5]) == 1 and parked[5] .. ':dependencies'
  if dependencies then
    fields[#fields + 1], fields[#fields + 2] = 'parentKey', parked[5]
    fields[#fields + 1], fields[#fields + 2] = 'parent', parked[6]
  end
  local target, blocked, settings = get_target(P)
  local max_events = max_len_events(P, settings[5])
  local place
  call('HSET', P .. id, unpack(fields))
  attempt(function()
    if dependencies then
      call('SADD', dependencies, P .. id)
    end
    place = place_jobs(P, target, { id }, due, priority, opts.lifo == true)
    call('SET', P .. 'de:' .. deduplication_id, id)
  end, function()
    if place then
      undo_enter(place)
    end
    if dependencies then
      call('SREM', dependencies, P .. id)
    end
    call('UNLINK', P .. id)
  end)
  call('DEL', parked_key)
  call('INCR', P .. 'id')

  call('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', parked[2])
  if due then
    call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'delayed', 'jobId', id, 'delay', due)
    add_delay_marker(P)
  else
    call('XADD', events, 'MAXLEN', '~', max_events, '*', 'event', 'waiting', 'jobId', id)
    add_marker(P, blocked)
  end
  return true
end
