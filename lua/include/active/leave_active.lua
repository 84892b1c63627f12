--- @include enter_place
--- @include undo_enter
--- @include drop_lock
--- @include on_hash
-- Whether a job may leave active: 0, -1 no such job, -2 no lock, -6 locked by another token, -3 not active. Token "0"
-- checks no lock.
local function check_active(P, id, token)
  if (on_hash('HLEN', P .. id) or 0) == 0 then -- also if the key is not a hash any more
    return -1
  end
  local held = token
  if token ~= '0' then
    held = redis.pcall('GET', P .. id .. ':lock')
    if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then
      error(held.err, 0)
    end
  end
  if held ~= token then -- also if the key is not a string
    return held and -6 or -2
  end
  return call('LPOS', P .. 'active', id, 'RANK', '-1') and 0 or -3
end

-- The fields of a failed attempt, as field, value...; none if both are "".
local function failure_fields(reason, stacktrace)
  return (reason ~= '' or stacktrace ~= '') and { 'failedReason', reason, 'stacktrace', stacktrace } or {}
end

-- Moves a job from active to `place` and writes `fields`: all of it or nothing. `code` is the result of check_active. A
-- locked job that is in `place` and no longer active was moved by a call that stopped before its end: this counts as
-- moved. Returns 0, or -3; then the lock is deleted and the fields of `failure` are written, as in BullMQ.
local function leave_active(P, id, token, code, place, fields, failure)
  local active, job_key = P .. 'active', P .. id
  if code == 0 then
    enter_place(place)
    local left = false
    local done, failed = pcall(function()
      call('LREM', active, -1, id)
      left = true
      if fields[1] then
        call('HSET', job_key, unpack(fields))
      end
    end)
    if not done then
      if left then
        call('RPUSH', active, id)
      end
      undo_enter(place)
      error(failed, 0)
    end
  elseif token == '0' or not call(place.push and 'LPOS' or 'ZSCORE', place.key, id) then
    if failure[1] then
      call('HSET', job_key, unpack(failure))
    end
    drop_lock(P, id, token)
    return -3
  end
  return 0
end
