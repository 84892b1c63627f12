-- Deletes the lock of a job. This is the last step of a move: a job that was moved and is still locked was moved by a
-- call that stopped before its end. Token "0" means no lock.
local function drop_lock(P, id, token)
  if token ~= '0' then
    call('SREM', P .. 'stalled', id)
    call('DEL', P .. id .. ':lock')
  end
end
