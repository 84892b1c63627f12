--- Finds the jobs of a lost reply: in active, locked by `token`, not known to the caller.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    token, known id...
--- Returns one MessagePack array of id, { flat hash }, id, { flat hash }... oldest first. Writes nothing.
local call = redis.call

local P = string.sub(KEYS[1], 1, -5)
local token = ARGV[1]
local known = {}
for i = 2, #ARGV do
  known[ARGV[i]] = true
end
local ids, locks = {}, {}
local active = call('LRANGE', P .. 'active', 0, -1)
for i = #active, 1, -1 do
  local id = active[i]
  if not known[id] then
    ids[#ids + 1] = id
    locks[#locks + 1] = P .. id .. ':lock'
  end
end
local jobs = {}
for from = 1, #ids, 1000 do
  local held = call('MGET', unpack(locks, from, math.min(from + 999, #ids)))
  for i = 1, #held do
    if held[i] == token then
      local id = ids[from + i - 1]
      jobs[#jobs + 1] = id
      jobs[#jobs + 1] = { call('HGETALL', P .. id) }
    end
  end
end
return cmsgpack.pack(jobs)
