--- @include attempt
--- @include matches_target
--- @include move_jobs
--- @include read_waiting
-- Finds and takes jobs for a worker that may not take all: among the next `depth` of `wait`, then among the next
-- `depth` prioritized ones, those whose target matches its profile. A job's target is its field `tgt`, or else `target`
-- in its options. Returns { read, enter, unmatched }: the first two are for fetch_jobs, in place of read_waiting and
-- enter_active; `unmatched` is the number of jobs that were seen and left.
local function scan_waiting(depth, profile)
  local scan = { unmatched = 0 }
  local of_field, of_opts = {}, {} -- the answers by text: most jobs have one of a few targets

  local function matches(job_key)
    local job = redis.pcall('HMGET', job_key, 'tgt', 'opts')
    local text, answers = job[1], of_field
    if not text then
      text, answers = job[2], of_opts
      -- Decoding is slow, and most options have no target. An id without a job is left to the fetch.
      if not text or not string.find(text, '"target"', 1, true) then
        return true
      end
    end
    if answers[text] == nil then
      local done, target = pcall(cjson.decode, text)
      if answers == of_opts and done and type(target) == 'table' then
        target = target.target
      end
      answers[text] = done and (target == nil or target == cjson.null or matches_target(profile, target))
    end
    return answers[text]
  end

  function scan.read(P, wanted)
    local ids, scores, taken_from_wait = {}, {}, 0
    local window = math.max(depth, wanted)
    local next_ids, next_scores, waiting = read_waiting(P, wanted < 1 and 0 or window)
    if waiting > 0 then -- then read_waiting has read fewer prioritized ones
      local more = call('ZRANGE', P .. 'prioritized', window - waiting, window - 1, 'WITHSCORES')
      for i = 1, #more, 2 do
        next_ids[#next_ids + 1], next_scores[#next_scores + 1] = more[i], more[i + 1]
      end
    end
    for i = 1, #next_ids do
      if #ids == wanted then
        break
      elseif not matches(P .. next_ids[i]) then
        scan.unmatched = scan.unmatched + 1
      else
        ids[#ids + 1] = next_ids[i]
        if i > waiting then
          scores[#scores + 1] = next_scores[i - waiting]
        else
          taken_from_wait = #ids
        end
      end
    end
    return ids, scores, taken_from_wait
  end

  function scan.enter(P, ids, taken, waiting, scores, no_jobs)
    local entering, from_wait = {}, math.min(taken, waiting)
    for i = 1, taken do
      if not no_jobs or not no_jobs[i] then
        entering[#entering + 1] = ids[i]
      end
    end
    local place = { ids = entering, key = P .. 'active', push = 'LPUSH' }
    move_jobs(entering[1] and { place } or {}, function()
      if taken > from_wait then
        call('ZREM', P .. 'prioritized', unpack(ids, from_wait + 1, taken))
      end
      attempt(function()
        for i = 1, from_wait do
          call('LREM', P .. 'wait', '-1', ids[i])
        end
      end, function()
        for i = from_wait + 1, taken do
          call('ZADD', P .. 'prioritized', scores[i - from_wait], ids[i])
        end
      end)
    end)
  end

  return scan
end
