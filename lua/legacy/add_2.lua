-- Adds a job to a queue of Bull 2.x.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    data (JSON), options (JSON; with jobId for a custom id), timestamp, delay, due (ms; 0 = it may run now),
-- attempts, lifo
--         (1 or 0), priority, custom id ('' = the next number), token of the producer
-- Returns the id, and 1 if the job was added, 0 if a job with the custom id existed
-- Publishes <prefix>:<queue>:jobs the id, or <prefix>:<queue>:delayed when the job is due; waiting@<queue> the job
local call = redis.call
--- @include new_legacy_id
--- @include add_legacy_job
local P = string.sub(KEYS[1], 1, -5)
local data, opts, timestamp, delay, due, attempts = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local lifo, priority, custom, token = ARGV[7] == '1', tonumber(ARGV[8]), ARGV[9], ARGV[10]
local number, id = new_legacy_id(P, custom)

local function publish_waiting()
  local name, shown, shown_opts = string.match(P, '([^:]*):$'), cjson.encode(id), opts
  if custom == '' then
    if due > 0 then
      shown = id -- Bull 2 publishes a number here
    end
    shown_opts = (opts == '{}' and '{' or string.sub(opts, 1, -2) .. ',') .. '"jobId":' .. shown .. '}'
  end
  local job = '{"id":' .. shown .. ',"data":' .. data .. ',"opts":' .. shown_opts .. ',"progress":0,"delay":' .. delay
    .. ',"timestamp":' .. timestamp .. ',"attempts":' .. attempts .. ',"attemptsMade":0,"stacktrace":[],"returnvalue":null}'
  call('PUBLISH', 'waiting@' .. name, '[' .. cjson.encode(token) .. ',' .. job .. ']')
end

if custom ~= '' and call('EXISTS', P .. id) == 1 then
  publish_waiting()
  return { id, 0 }
end
local fields = {
  'data', data, 'opts', opts, 'progress', 0, 'delay', delay, 'timestamp', timestamp, 'attempts', attempts,
  'attemptsMade', 0, 'failedReason', '', 'stacktrace', '[]', 'returnvalue', 'null',
}
-- Of both Bull 2 ignores the priority.
local place = { due = due, number = number, priority = lifo and 0 or priority, push = lifo and 'RPUSH' or 'LPUSH' }
add_legacy_job(P, id, fields, place, function()
  call('PUBLISH', P .. (due > 0 and 'delayed' or 'jobs'), due > 0 and due or id)
  publish_waiting()
end)
return { id, 1 }
