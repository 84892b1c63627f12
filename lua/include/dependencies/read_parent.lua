-- Decodes a child's `parent` field: { P = prefix of the parent's queue, id, key, fpof, cpof, idof, rdof }.
-- The JSON says where the id begins, which the key alone does not when ids contain colons; the last
-- colon is the fallback for a field that cannot be read.
local function read_parent(parent_key, parent_json)
  local decoded, parent = pcall(cjson.decode, parent_json or '')
  if decoded and type(parent) == 'table' and type(parent.queueKey) == 'string' and parent.id ~= nil then
    parent.P = parent.queueKey .. ':'
    parent.id = tostring(parent.id)
  else
    parent = {}
    parent.P, parent.id = string.match(parent_key, '^(.-)([^:]*)$')
  end
  parent.key = parent_key
  return parent
end
