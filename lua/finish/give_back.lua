--- Gives back jobs that no handler has started, as if they had never been claimed: to the end of `wait` from which
--- workers take, in their old order, or to prioritized with their old score.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    per job, the one to run first last: id, token, score ("" = from `wait`), stamped ("1" = its fetch stamped
---         it; then ats, processedOn, pb are the values before the fetch, "" = absent), ats, processedOn, pb
--- Returns one code per job: 0, -1 no such job, -2/-6 lock gone/not ours, -3 not active
--- Events  waiting (prev=active) per job given back
local call = redis.call
--- @include get_target
--- @include add_marker
--- @include leave_active
--- @include max_len_events

local P = string.sub(KEYS[1], 1, -5)
local WIDTH = 7
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

local target, _, settings = get_target(P)
local codes, given, highest = {}, 0, 0
for at = 1, #ARGV, WIDTH do
  local id, token, score = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local job_key = P .. id
  local code = check_active(P, id, token)
  if code == 0 and ARGV[at + 3] == '1' then
    restore(job_key, 'ats', ARGV[at + 4])
    restore(job_key, 'processedOn', ARGV[at + 5])
    restore(job_key, 'pb', ARGV[at + 6])
  end
  if code == 0 or code == -3 then
    local place = score and { ids = { id }, key = P .. 'prioritized', scores = { score } }
      or { ids = { id }, key = target, push = 'RPUSH' }
    code = leave_active(P, id, token, code, place, {}, {})
  end
  if code == 0 then
    given = given + 1
    highest = score and math.max(highest, score % 4294967296) or highest
    call('XADD', P .. 'events', 'MAXLEN', '~', max_len_events(P, settings[5]), '*', 'event', 'waiting', 'jobId', id,
      'prev', 'active')
    drop_lock(P, id, token)
  end
  codes[#codes + 1] = code
end
if highest > 0 then
  call('SET', P .. 'pc', string.format('%.0f', highest), 'NX') -- a fetch that found no prioritized job has deleted it
end
if given > 0 then
  local _, blocked = get_target(P)
  add_marker(P, blocked)
end
return codes
