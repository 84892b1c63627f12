--- Finds the jobs of a lost reply: in active, locked by `token`, not known to the caller.
--- KEYS[1] <prefix>:<queue>:meta
--- ARGV    token, with_data (0 = the ids alone), known id...
--- Returns one MessagePack array of id, { flat hash }, id, { flat hash }... oldest first; without data { } is in place
---         of each hash. Writes nothing.
local call = redis.call

local P = string.sub(KEYS[1], 1, -5)
local token, with_data = ARGV[1], ARGV[2] ~= '0'
local known = {}
for i = 3, #ARGV do
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
      jobs[#jobs + 1] = with_data and { call('HGETALL', P .. id) } or {}
    end
  end
end
return cmsgpack.pack(jobs)
