-- Whether a repeatable of Bull, and its pending job if it has one (`pending_id` is not ''), are as they were seen.
local function find_pending(P, repeatable, next, from, pending_id, seen_opts)
  if tonumber(call('ZSCORE', P .. 'repeat', repeatable)) ~= tonumber(next) then
    return false
  end
  if pending_id == '' then
    return true
  end
  if from == 'active' and call('EXISTS', P .. pending_id .. ':lock') == 1 then
    return false
  end
  local is_there = from == 'delayed' and call('ZSCORE', P .. from, pending_id)
    or from ~= 'delayed' and call('LPOS', P .. from, pending_id, 'RANK', '-1', 'MAXLEN', '10000')
  return is_there and call('HGET', P .. pending_id, 'opts') == seen_opts
end

-- Takes a repeatable and its pending job out of their places.
local function leave_places(P, repeatable, from, pending_id)
  call('ZREM', P .. 'repeat', repeatable)
  if pending_id ~= '' and from ~= 'delayed' then
    call('LREM', P .. from, '-1', pending_id)
  elseif pending_id ~= '' then
    call('ZREM', P .. from, pending_id)
  end
end

-- Deletes the pending job, which is in no place any more.
local function forget_pending(P, pending_id)
  if pending_id ~= '' then
    call('UNLINK', P .. pending_id, P .. pending_id .. ':logs')
    redis.pcall('ZREM', P .. 'priority', pending_id)
  end
end
