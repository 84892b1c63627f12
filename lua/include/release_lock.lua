-- Gives up the lock of a job: 0, -2 (no lock) or -6 (held under another token). Token "0" checks nothing.
local function release_lock(P, id, token)
  if token == '0' then
    return 0
  end
  local key = P .. id .. ':lock'
  local held = call('GET', key)
  if held == token then
    call('DEL', key)
    call('SREM', P .. 'stalled', id)
    return 0
  end
  return held and -6 or -2
end
