-- Whether a queue follows the rules of BullMQ 6 where those of 5.62.0 are others: docs/interop.md has a table of them.
-- The field `version` of meta is a hint: each `Queue` of BullMQ writes its own there. `ext:compat` is what a program
-- has set with the option `compat`, and comes first. `settings` are those of get_target; nil = they are read.
local function follows_6(P, settings)
  local compat, version
  if settings then
    compat, version = settings[6], settings[7]
  else
    compat, version = unpack(call('HMGET', P .. 'meta', 'ext:compat', 'version'))
  end
  return (tonumber(compat or '') or tonumber(string.match(version or '', '^bullmq:(%d+)')) or 5) >= 6
end
