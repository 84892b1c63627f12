-- Renews the locks of a worker's jobs; a renewed job is no longer a candidate for the stalled check.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    lock_duration (ms), then per job: id, token
-- Returns the ids that were not renewed: lock expired, or held by another token
-- Events  none
local call = redis.call
local P = string.sub(KEYS[1], 1, -5)
local duration = ARGV[1]
local failed = {}

-- The pairs start at ARGV[2]. In parts, since unpack has a limit.
for first = 2, #ARGV, 2000 do
  local last = math.min(first + 1999, #ARGV)
  local lock_keys = {}
  for i = first, last, 2 do
    lock_keys[#lock_keys + 1] = P .. ARGV[i] .. ':lock'
  end
  local holders = call('MGET', unpack(lock_keys))
  local renewed = {}
  for n, holder in ipairs(holders) do
    local id, token = ARGV[first + 2 * n - 2], ARGV[first + 2 * n - 1]
    if holder == token then
      -- Not SET: a server that is out of memory refuses SET, and the job would run twice.
      call('PEXPIRE', lock_keys[n], duration)
      renewed[#renewed + 1] = id
    else
      failed[#failed + 1] = id
    end
  end
  if #renewed > 0 then
    call('SREM', P .. 'stalled', unpack(renewed))
  end
end

return failed
