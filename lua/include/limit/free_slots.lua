-- How many more may hold this limit at the same time. A holder is the name of a key that exists as long as it holds. It
-- is looked for only if all slots seem taken: the 20 whose leases end first.
local function free_slots(limit)
  local key = limit.base .. 'held'
  local free = limit.concurrency - call('ZCARD', key)
  if free < 1 then
    for _, holder in ipairs(call('ZRANGE', key, 0, 19)) do
      if call('EXISTS', holder) == 0 then
        free = free + call('ZREM', key, holder)
      end
    end
  end
  return free
end
