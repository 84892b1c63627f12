-- Gives up the lock of a job, as the last of what is done to it: while a job that has moved on is still locked, the call that
-- moved it was stopped before its end. Token "0" stands for no lock.
local function drop_lock(P, id, token)
  if token ~= '0' then
    call('SREM', P .. 'stalled', id)
    call('DEL', P .. id .. ':lock')
  end
end
