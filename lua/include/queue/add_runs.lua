--- @include enter_place
--- @include get_target
--- @include max_len_events
--- @include add_marker
--- @include place_jobs
-- Adds the jobs of all runs (see add_jobs) that end at `size` in ARGV. Appends to `reply` what add_jobs returns for each
-- run, to `added` the ids of its new jobs, and to `places` their place, so that the caller can take them back if this
-- stops with an error. `counter`: see open_counter; nil = nothing is counted.
-- Everything comes as an argument: each local of the script that a function names costs every call.
local function add_runs(P, ARGV, size, reply, added, places, counter, fans_out)
  local target, blocked, settings = get_target(P)
  local events, format = P .. 'events', string.format
  local runnable, delayed = false, false
  local at = counter and 3 or 1
  while at <= size do
    local count, name, opts, timestamp = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    local delay, priority, custom = ARGV[at + 4], ARGV[at + 5], ARGV[at + 7] == '1'
    local due = tonumber(delay) > 0 and format('%.17g', timestamp + delay)
    local lifo = ARGV[at + 6] == '1'
    at = at + 8

    local first = call('INCRBY', P .. 'id', count) - count + 1
    local placed = {}
    local ids, duplicates = placed, custom and {}
    if custom then
      ids = {}
    end
    added[#added + 1] = placed
    local opts_head = custom and (opts == '{}' and '{"jobId":' or string.sub(opts, 1, -2) .. ',"jobId":')
    for i = 0, count - 1 do
      local id, own_opts = nil, opts
      if custom then
        id = ARGV[at]
        at = at + 1
      end
      if id and id ~= '' and call('EXISTS', P .. id) == 1 then
        ids[i + 1] = id
        duplicates[#duplicates + 1] = i
      else
        if not id or id == '' then
          id = format('%d', first + i)
        else -- the options of the run, and the job's own id
          own_opts = opts_head .. cjson.encode(id) .. '}'
        end
        call('HSET', P .. id, 'name', name, 'data', ARGV[at], 'opts', own_opts, 'timestamp', timestamp, 'delay', delay,
          'priority', priority)
        ids[i + 1] = id
        if custom then
          placed[#placed + 1] = id
        end
      end
      at = at + 1
    end
    reply[#reply + 1] = duplicates or first
    if counter then
      counter.total = counter.total + count - #(duplicates or '')
    end

    if placed[1] then
      places[#places + 1] = place_jobs(P, target, placed, due, priority, lifo)
      delayed = delayed or due
      runnable = runnable or not due
    end
    local duplicate, duplicated = 1, duplicates and { 'duplicated', 'jobId', '' }
    local ready = due and { 'delayed', 'jobId', '', 'delay', due } or { 'waiting', 'jobId', '' }
    for i = 1, count do
      local id, entry = ids[i], ready
      if duplicates and duplicates[duplicate] == i - 1 then
        duplicate = duplicate + 1
        entry = duplicated
      else
        call('XADD', events, '*', 'event', 'added', 'jobId', id, 'name', name)
      end
      entry[3] = id
      if i == count and at > size then -- one trim per call leaves the same stream as one trim per job
        call('XADD', events, 'MAXLEN', '~', max_len_events(P, settings[5]), '*', 'event', unpack(entry))
      elseif entry == ready and not due then -- most jobs: cheaper than from a table
        call('XADD', events, '*', 'event', 'waiting', 'jobId', id)
      else
        call('XADD', events, '*', 'event', unpack(entry))
      end
    end
  end

  if runnable then
    add_marker(P, blocked)
    if fans_out then
      --- @include fan_out
      local ready = {}
      for _, place in ipairs(places) do
        for _, id in ipairs(place.scores and {} or place.ids) do -- not delayed jobs
          ready[#ready + 1] = id
        end
      end
      fan_out(P, blocked, ready)
    end
  end
  if delayed then
    --- @include add_delay_marker
    add_delay_marker(P)
  end
  if counter then -- last, so that a call which is undone is not counted
    counter.store()
  end
end
