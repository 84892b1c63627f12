-- Adds a job to a queue of Bull 3.x or 4.x.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    name, data (JSON), options (JSON; with jobId for a custom id), timestamp, delay, due (ms; 0 = it may run
--         now), lifo (1 or 0), priority, custom id ('' = the next number), token of the producer, debounce id ('' =
--         none), its time to live (ms; '' = until the job ends)
-- Returns the id, and 1 if the job was added, 0 if a job with the custom id existed; the id of the job that holds the
--         debounce id, and 0
-- Publishes <prefix>:<queue>:waiting@<token> the id, or <prefix>:<queue>:delayed when the job is due, or
--           <prefix>:<queue>:duplicated@<token> the custom id that existed, or <prefix>:<queue>:debounced@<token> the id
--           of the job that holds the debounce id
local call = redis.call
--- @include new_legacy_id
--- @include add_legacy_job
local P = string.sub(KEYS[1], 1, -5)
local name, data, opts, timestamp, delay, due = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local lifo, priority, custom, token = ARGV[7] == '1', ARGV[8], ARGV[9], ARGV[10]
local debounce, ttl = ARGV[11], ARGV[12]
local number, id = new_legacy_id(P, custom)
if custom ~= '' and call('EXISTS', P .. id) == 1 then
  call('PUBLISH', P .. 'duplicated@' .. token, id)
  return { id, 0 }
end
local fields = {
  'name', name, 'data', data, 'opts', opts, 'timestamp', timestamp, 'delay', delay, 'priority', priority,
}
if debounce ~= '' then
  local holder = call('GET', P .. 'de:' .. debounce)
  if holder then
    call('PUBLISH', P .. 'debounced@' .. token, holder)
    return { holder, 0 }
  end
  fields[#fields + 1], fields[#fields + 2] = 'deid', debounce
end
local place = { due = due, number = number, priority = tonumber(priority), push = lifo and 'RPUSH' or 'LPUSH' }
add_legacy_job(P, id, fields, place, function()
  if due > 0 then
    call('PUBLISH', P .. 'delayed', due)
  else
    call('PUBLISH', P .. 'waiting@' .. token, id)
  end
  if debounce ~= '' and ttl ~= '' then
    call('SET', P .. 'de:' .. debounce, id, 'PX', ttl)
  elseif debounce ~= '' then
    call('SET', P .. 'de:' .. debounce, id)
  end
end)
return { id, 1 }
