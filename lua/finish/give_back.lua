--- Gives jobs back that no handler has started, as if they had never been claimed: to the end of `wait` from which workers
--- take, in the order in which they were there, or among the prioritized under the score they had.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    per job, the one to run first last: id, token, score ("" = from `wait`), stamped ("1" = its fetch stamped it; then
---         ats, processedOn, pb are what it had before, "" = absent), ats, processedOn, pb
--- Returns one code per job: 0, -1 no such job, -2/-6 lock gone/not ours, -3 not active
--- Events  waiting (prev=active) per job given back
local call = redis.call
--- @include attempt
--- @include get_target
--- @include add_marker
--- @include max_len_events

local P = string.sub(KEYS[1], 1, -5)
local WIDTH = 7
local active_key, prioritized_key = P .. 'active', P .. 'prioritized'
if #ARGV % WIDTH ~= 0 then
  return redis.error_reply('ERR give_back: malformed arguments')
end

local function restore(job_key, field, value)
  if value == '' then
    call('HDEL', job_key, field)
  else
    call('HSET', job_key, field, value)
  end
end

local _, _, settings = get_target(P)
local list_key = settings[1] and P .. 'paused' or P .. 'wait'
local codes, given, highest = {}, 0, 0
for at = 1, #ARGV, WIDTH do
  local id, token, score = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local job_key = P .. id
  local lock_key = job_key .. ':lock'
  local held = call('GET', lock_key)
  local code = 0
  if call('EXISTS', job_key) == 0 then
    code = -1
  elseif held ~= token then
    code = held and -6 or -2
  elseif not call('LPOS', active_key, id) then
    code = -3
  end
  if code == 0 then
    if ARGV[at + 3] == '1' then
      restore(job_key, 'ats', ARGV[at + 4])
      restore(job_key, 'processedOn', ARGV[at + 5])
      restore(job_key, 'pb', ARGV[at + 6])
    end
    -- It enters its place before it leaves active, and leaves that again if it cannot: it is never in none, and in both only
    -- within this call.
    if score then
      call('ZADD', prioritized_key, score, id)
      highest = math.max(highest, score % 4294967296)
    else
      call('RPUSH', list_key, id)
    end
    attempt(function()
      call('LREM', active_key, 1, id)
    end, function()
      if score then
        call('ZREM', prioritized_key, id)
      else
        call('RPOP', list_key)
      end
    end)
    given = given + 1
    call('DEL', lock_key)
    call('SREM', P .. 'stalled', id)
    call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P, settings[5]), '*', 'event', 'waiting', 'jobId', id,
      'prev', 'active')
  end
  codes[#codes + 1] = code
end
if highest > 0 then
  call('SET', P .. 'pc', string.format('%.0f', highest), 'NX') -- deleted by a fetch that found no prioritized job any more
end
if given > 0 then
  local _, blocked = get_target(P)
  add_marker(P, blocked)
end
return codes
