--- Adds jobs: per job the hash, `added`, and its place in wait, prioritized or delayed.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    [ "batch", batch_id, ] then runs, one after another. With a batch id the jobs that this call adds are
---         counted in ext:enq-<batch_id>, which lives for 7 days.
---         Run: count, name, opts_json, timestamp, delay, priority, lifo, custom_ids, then
---         per job `data` (custom_ids "0") or `id, data` (custom_ids "1"; id "" = automatic). opts_json is an
---         object without jobId, which is added here for custom ids.
---         [, "fan_out": wakes a worker per job, see fan_out] [, "#number": the last element of the reply]
--- Returns one element per run: custom_ids "0" -> id of the first job, the others follow it without gaps;
---         custom_ids "1" -> { 0-based positions whose id existed already }.
---         Every job takes a number from the counter, also one with a custom id.
--- Events  added, then waiting or delayed, per job; duplicated for an id that exists
local call = redis.call
--- @include add_runs

local P = string.sub(KEYS[1], 1, -5)
local ARGV = ARGV
--- @include take_number
local size = #ARGV

local batch = ARGV[1] == 'batch' and ARGV[2]
local first_run = batch and 3 or 1
local from = first_run
while from < size or from == size and ARGV[size] ~= 'fan_out' do
  local count, custom = tonumber(ARGV[from]), ARGV[from + 7]
  if not count or count < 1 or not tonumber(ARGV[from + 3]) or not tonumber(ARGV[from + 4])
    or not tonumber(ARGV[from + 5]) or not custom then
    return redis.error_reply('ERR add_jobs: malformed run at argument ' .. from)
  end
  from = from + 8 + count * (custom == '1' and 2 or 1)
end
local fans_out = from == size
if fans_out then
  size = size - 1
elseif from ~= size + 1 then
  return redis.error_reply('ERR add_jobs: the last run is cut short')
end
if size < first_run then
  return {}
end

local counter
if batch then
  --- @include open_counter
  counter = open_counter(P, batch)
  if counter.err then
    return counter
  end
end

-- A call adds all its jobs or none: after an error the caller may add them again.
local reply, added, places = {}, {}, {}
local done, failed = pcall(add_runs, P, ARGV, size, reply, added, places, counter, fans_out)
if not done then
  --- @include undo_enter
  for i = #places, 1, -1 do
    undo_enter(places[i])
  end
  for _, placed in ipairs(added) do
    for _, id in ipairs(placed) do
      call('UNLINK', P .. id)
    end
  end
  error(failed, 0)
end
reply[#reply + 1] = number
return reply
