--- Adds jobs that have a parent, children or a deduplication id, each to its own queue.
--- KEYS[1] <prefix>:<queue>:meta of the first job's queue
--- ARGV    [ "batch", batch_id, ] as in add_jobs, then
---         done_key (key of a job that exists if and only if this same call was done before; "" = not known), then runs
---         of consecutive jobs. Run: count, P (prefix of the queue's keys, with the colon), name, opts_json, timestamp,
---         delay, priority, lifo, ids ("0" from the counter, "1" custom, "2" made by the client), parent ("1": it waits
---         for children), parent_key, parent_json (both "" = none), deduplication_id ("" = none), deduplication_ttl (ms
---         or "0"), deduplication_flags (any of e = extend, r = replace, k = keep the last job while the owner is
---         active, s = a delayed owner gets the new delay); then per job `data` (ids "0") or `id, data`. opts_json is
---         an object without jobId, which is added here for custom ids.
---         A parent comes before its children and has no deduplication.
---         [, "fan_out": wakes a worker per job, see fan_out]
--- Returns { ids, { 0-based positions of jobs that were not stored: the id existed, or another job is used instead },
---         { those of these positions for which the given parent does not wait: the job has another parent or is
---         deduplicated } }. Or { code, position }, with nothing stored, about a parent that is not in this call: -5 it
---         does not exist, -7 the job has another parent. Or nil: done_key shows that the call was done before.
--- Events  added, then waiting, delayed or waiting-children, per job; duplicated for an id that exists; debounced (not
---         in a queue of BullMQ 6) and deduplicated [after removed, or before delayed of the owner]; waiting or delayed
---         of a parent whose children are all done
local call = redis.call
--- @include attempt
--- @include enter_place
--- @include undo_enter
--- @include get_target
--- @include follows_6
--- @include max_len_events
--- @include add_marker
--- @include add_delay_marker
--- @include place_jobs
--- @include deduplicate
--- @include remove_job_keys
--- @include read_parent
--- @include release_parent_if_done
--- @include note_ready

local ARGV, format, find = ARGV, string.format, string.find
local size, HEAD = #ARGV, 15

-- Check the form of all runs, and which jobs and parents exist, before anything is written.
local runs, keys, made, refused, repeated = {}, {}, {}, {}, false
local batch = ARGV[1] == 'batch' and ARGV[2]
local done_key = ARGV[batch and 3 or 1]
local at, position = batch and 4 or 2, 0
while at < size or at == size and ARGV[size] ~= 'fan_out' do
  local count, ids, flags = tonumber(ARGV[at]), ARGV[at + 8], ARGV[at + 14]
  local run = {
    count = count, P = ARGV[at + 1], name = ARGV[at + 2], opts = ARGV[at + 3], timestamp = ARGV[at + 4],
    delay = ARGV[at + 5], priority = ARGV[at + 6], lifo = ARGV[at + 7] == '1', ids = ids, parent = ARGV[at + 9] == '1',
    parent_key = ARGV[at + 10], parent_json = ARGV[at + 11], first = at + HEAD, position = position,
  }
  if not count or count < 1 or not tonumber(run.timestamp) or not tonumber(run.delay) or not tonumber(run.priority)
    or not flags or not find(ids, '^[012]$') or not find(run.P, '^.+:.+:$') or not tonumber(ARGV[at + 13])
    or (run.parent and ARGV[at + 12] ~= '') then
    return redis.error_reply('ERR add_linked_jobs: malformed run at argument ' .. at)
  end
  if ARGV[at + 12] ~= '' then
    run.rule = {
      id = ARGV[at + 12], ttl = tonumber(ARGV[at + 13]),
      extend = find(flags, 'e'), replace = find(flags, 'r'), keep_last = find(flags, 'k'),
      reschedule = find(flags, 's'), timestamp = run.timestamp, delay = run.delay,
    }
  end
  run.width = ids == '0' and 1 or 2
  if run.parent_key ~= '' and made[run.parent_key] == nil and call('EXISTS', run.parent_key) == 0 then
    return { -5, position }
  end
  at = run.first + count * run.width
  if at > size + 1 then
    return redis.error_reply('ERR add_linked_jobs: the last run is cut short')
  end
  if ids ~= '0' then
    for i = run.first, at - 1, 2 do
      local job_key = run.P .. ARGV[i]
      repeated = repeated or made[job_key] ~= nil
      made[job_key] = run.parent and 'parent' or 'job'
      keys[#keys + 1] = job_key
    end
  end
  runs[#runs + 1] = run
  position = position + count
end
local fans_out = at == size
if #runs == 0 then
  return redis.error_reply('ERR add_linked_jobs: no jobs')
end

for first = 1, #keys, 1000 do
  repeated = repeated or call('EXISTS', unpack(keys, first, math.min(first + 999, #keys))) > 0
end
if repeated then -- seldom: some ids exist, and these jobs may have another parent
  if done_key ~= '' and call('EXISTS', done_key) == 1 then
    return false
  end
  local linked = {}
  for _, run in ipairs(runs) do
    for i = 0, run.ids == '0' and -1 or run.count - 1 do
      local job_key = run.P .. ARGV[run.first + 2 * i]
      local link = linked[job_key] or (call('EXISTS', job_key) == 1 and (call('HGET', job_key, 'parentKey') or ''))
      if link and link ~= '' and run.parent_key ~= '' and link ~= run.parent_key then
        if not linked[link] and call('EXISTS', link) == 0 then
          -- A link to a missing parent stays, as in BullMQ 5; in a queue of BullMQ 6 the job gets the new parent.
          linked[job_key] = follows_6(run.P) and run.parent_key or link
        elseif made[run.parent_key] == 'parent' then
          refused[run.position + i] = true
          linked[job_key] = link
        else
          call('INCR', run.P .. 'id') -- as in BullMQ, the refused job has taken a number
          return { -7, run.position + i }
        end
      else
        linked[job_key] = run.parent_key ~= '' and run.parent_key or link or ''
      end
    end
  end
end

local counter
if batch then
  --- @include open_counter
  counter = open_counter(string.sub(KEYS[1], 1, -5), batch)
  if counter.err then
    return counter
  end
end

local queues, unsure, unsure_runs = {}, {}, {}
local function open_queue(P)
  local target, blocked, settings = get_target(P)
  queues[P] = {
    target = target, blocked = blocked, max_events = max_len_events(P, settings[5]), of_6 = follows_6(P, settings),
  }
  return queues[P]
end

-- A parent made by this call must not be released before its last child is known.
local function release_later(run)
  if not unsure[run.parent_key] then
    unsure[run.parent_key] = true
    unsure_runs[#unsure_runs + 1] = run
  end
end

-- A job that exists gets the parent if it has none. If the job has completed, the parent gets its result at once.
local function attach_child(run, id)
  local job_key, parent_key = run.P .. id, run.parent_key
  local link = call('HGET', job_key, 'parentKey')
  if link and link ~= parent_key and (not queues[run.P].of_6 or call('EXISTS', link) == 1) then
    return false
  end
  if not call('ZSCORE', run.P .. 'completed', id) then
    call('SADD', parent_key .. ':dependencies', job_key)
  else
    call('HSET', parent_key .. ':processed', job_key, call('HGET', job_key, 'returnvalue') or 'null')
    if made[parent_key] then
      release_later(run)
    else
      local parent = read_parent(parent_key, run.parent_json)
      release_parent_if_done(parent.P, parent.id, run.timestamp)
    end
  end
  call('HSET', job_key, 'parentKey', parent_key, 'parent', run.parent_json)
  return true
end

-- What this call has done so far, to undo it if Redis refuses the rest: hashes, places, { dependencies key, children }
-- and functions that undo a deduplication.
local stored, places, links, undo = {}, {}, {}, {}
local leaving = {} -- the keys of jobs that were replaced

local function place(run, queue, due, placed, placed_keys, replaced)
  if run.parent then
    local parents = { ids = placed, key = run.P .. 'waiting-children', scores = {} }
    for i = 1, #placed do
      parents.scores[i] = run.timestamp
    end
    enter_place(parents)
    places[#places + 1] = parents
  else
    places[#places + 1] = place_jobs(run.P, queue.target, placed, due, run.priority, run.lifo, replaced)
    queue.delayed = queue.delayed or due
    queue.runnable = queue.runnable or not due
    for _, id in ipairs(fans_out and not due and placed or {}) do
      note_ready(run.P, id)
    end
  end
  if run.parent_key ~= '' then
    local dependencies = run.parent_key .. ':dependencies'
    call_many('SADD', dependencies, placed_keys)
    links[#links + 1] = { dependencies, placed_keys }
  end
end

local all_ids, left_out, unattached = {}, {}, {}
local function add()
  for _, run in ipairs(runs) do
    local P, count, ids, rule, has_parent = run.P, run.count, run.ids, run.rule, run.parent_key ~= ''
    local queue, events = queues[P] or open_queue(P), P .. 'events'
    local due = not run.parent and tonumber(run.delay) > 0 and format('%.17g', run.timestamp + run.delay)
    local opts_head = run.opts == '{}' and '{"jobId":' or string.sub(run.opts, 1, -2) .. ',"jobId":'
    local first = call('INCRBY', P .. 'id', count) - count
    local placed, placed_keys = {}, {}

    for i = 1, count do
      local at_job = run.first + (i - 1) * run.width
      local id, data = ARGV[at_job], ARGV[at_job + 1]
      local opts = run.opts
      if ids == '0' then
        id, data = format('%d', first + i), id
      elseif ids == '1' then
        opts = opts_head .. cjson.encode(id) .. '}'
      end
      local job_key = P .. id
      if leaving[job_key] then
        remove_job_keys(job_key)
        leaving[job_key] = nil
      end
      local stays, attached, replaced, replace = false, true, nil, nil
      if refused[run.position + i - 1] then
        stays, attached = id, false
      elseif repeated and ids ~= '0' and call('EXISTS', job_key) == 1 then
        stays = id
        if has_parent then
          if placed[1] then
            place(run, queue, due, placed, placed_keys)
            placed, placed_keys = {}, {}
          end
          attached = attach_child(run, id)
        end
        call('XADD', events, '*', 'event', 'duplicated', 'jobId', id)
      elseif rule then
        local pending = { 'name', run.name, 'data', data, 'opts', opts }
        if has_parent then
          pending = { 'name', run.name, 'data', data, 'opts', opts, 'pk', run.parent_key, 'pd', run.parent_json,
            'pdk', run.parent_key .. ':dependencies' }
        end
        stays, replaced, replace = deduplicate(P, id, rule, queue.max_events, pending, undo, queue.of_6)
        if stays and has_parent then
          attached = false
          if made[run.parent_key] then
            release_later(run)
          end
        end
      end

      if stays then
        all_ids[#all_ids + 1] = stays
        left_out[#left_out + 1] = run.position + i - 1
        if not attached then
          unattached[#unattached + 1] = run.position + i - 1
        end
      else
        all_ids[#all_ids + 1] = id
        local fields = { 'name', run.name, 'data', data, 'opts', opts, 'timestamp', run.timestamp, 'delay', run.delay,
          'priority', run.priority }
        if has_parent then
          fields[13], fields[14], fields[15], fields[16] = 'parentKey', run.parent_key, 'parent', run.parent_json
        end
        if rule then
          fields[#fields + 1], fields[#fields + 2] = 'deid', rule.id
        end
        call('HSET', job_key, unpack(fields))
        stored[#stored + 1] = job_key
        call('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', run.name)
        if run.parent then
          call('XADD', events, '*', 'event', 'waiting-children', 'jobId', id)
        elseif due then
          call('XADD', events, '*', 'event', 'delayed', 'jobId', id, 'delay', due)
        else
          call('XADD', events, '*', 'event', 'waiting', 'jobId', id)
        end
        placed[#placed + 1], placed_keys[#placed_keys + 1] = id, job_key
        if replaced and queue.delayed then -- BullMQ's marker is for the delayed jobs that were there before the new one
          add_delay_marker(P)
          queue.delayed = false
        end
        if rule then -- the next job may replace it
          place(run, queue, due, placed, placed_keys, replaced)
          placed, placed_keys = {}, {}
        end
        if replace then
          replace()
          leaving[P .. replaced] = true
        end
      end
    end
    if placed[1] then
      place(run, queue, due, placed, placed_keys)
    end
  end

  for P, queue in pairs(queues) do
    call('XTRIM', P .. 'events', 'MAXLEN', '~', queue.max_events)
    if queue.runnable then
      add_marker(P, queue.blocked)
    end
    if queue.delayed then
      add_delay_marker(P)
    end
  end
  for _, run in ipairs(unsure_runs) do
    local parent = read_parent(run.parent_key, run.parent_json)
    release_parent_if_done(parent.P, parent.id, run.timestamp)
  end
  if fans_out then
    --- @include fan_out_noted
    fan_out_noted(ready)
  end
  if counter then -- last, so that a call which is undone is not counted
    counter.total = counter.total + #stored
    counter.store()
  end
end

-- A call adds all its jobs or none. A list is searched for the ids, since a released parent may be at its end.
attempt(add, function()
  for i = #places, 1, -1 do
    local place = places[i]
    if not place.push then
      undo_enter(place)
    end
    for _, id in ipairs(place.push and place.ids or {}) do
      call('LREM', place.key, place.push == 'LPUSH' and 1 or -1, id)
    end
  end
  for _, link in ipairs(links) do
    call_many('SREM', link[1], link[2])
  end
  for first = 1, #stored, 1000 do
    call('UNLINK', unpack(stored, first, math.min(first + 999, #stored)))
  end
  for i = #undo, 1, -1 do
    undo[i]()
  end
end)
for job_key in pairs(leaving) do
  remove_job_keys(job_key)
end
return { all_ids, left_out, unattached }
