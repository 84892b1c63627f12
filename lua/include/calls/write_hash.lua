-- Makes a hash have exactly these fields (field, value...). The key exists all the time.
local function write_hash(key, fields)
  local wanted, stale = {}, {}
  for i = 1, #fields, 2 do
    wanted[fields[i]] = true
  end
  for _, field in ipairs(call('HKEYS', key)) do
    if not wanted[field] then
      stale[#stale + 1] = field
    end
  end
  call('HSET', key, unpack(fields))
  if stale[1] then
    call('HDEL', key, unpack(stale))
  end
end
