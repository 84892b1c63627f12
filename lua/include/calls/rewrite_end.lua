--- @include call_many
-- Writes the end of a list again: of its last `length` members only `kept` stay, in this order.
local function rewrite_end(key, length, kept)
  call('LTRIM', key, '0', -length - 1)
  if not pcall(call_many, 'RPUSH', key, kept) then
    call_many('LPUSH', key, kept) -- RPUSH is refused: a wrong order is better than lost jobs
  end
end
