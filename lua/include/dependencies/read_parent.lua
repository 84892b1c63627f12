-- Decodes a child's `parent` field: { P = prefix of the parent's queue, id, key, fpof, cpof, idof, rdof }. The JSON has
-- the id. The key alone is not enough if ids contain colons; its last colon counts only if the JSON cannot be read.
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
