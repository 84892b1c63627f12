-- Finds the commands that the user of this connection may not run. Nothing is different afterwards.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    commands, in lower case, a subcommand after a bar
-- Returns those that may not be run. Others are not checked: commands that are not in the list below, and before
--         Redis 7 those that no script may run. If DEL is asked for and denied, before Redis 7, it is the only one
--         that is reported: what the others would write could not be deleted. Who does not ask for DEL asks for no
--         command that writes.
-- Events  none
local check = redis.acl_check_cmd
--- @include is_denial

-- Nobody else sees this key: it is gone at the end.
local key = string.sub(KEYS[1], 1, -5) .. 'ext:rights'
-- Each command has as many arguments as it takes at least. A server may stop when it looks for keys among fewer.
local SHAPES = {
  { 'asking discard multi ping time' },
  { 'del exists get hgetall hkeys hlen incr llen lpop persist pttl rpop scard smembers srandmember type unlink', key },
  { 'mget xlen zcard', key },
  { 'hdel hexists hget hmget hscan hstrlen lindex lpos lpush rpush sadd srem sismember smismember sscan', key, '0' },
  { 'bzpopmin expire incrby pexpire xdel zmscore zrank zrem zscan zscore', key, '0' },
  { 'hincrby hset hsetnx lrange lrem lset ltrim psetex set xrange xrevrange xtrim', key, '0', '0' },
  { 'zadd zcount zrange zrangebyscore zremrangebyrank zremrangebyscore zrevrange', key, '0', '0' },
  { 'zrevrangebyscore', key, '0', '0' },
  { 'copy rename', key, key },
  { 'linsert', key, 'before', '0', '0' },
  { 'lmove', key, key, 'left', 'right' },
  { 'xadd', key, '0', '0', '0' },
  { 'xread', 'count', '1', 'streams', key, '0' },
  { 'xinfo|stream', key },
  { 'cluster|slots' },
  { 'scan script|exists script|load', '0' },
  { 'evalsha', '0', '0' },
}

local forms = {}
for _, shape in ipairs(SHAPES) do
  for command in string.gmatch(shape[1], '%S+') do
    local form = {}
    for word in string.gmatch(command, '[^|]+') do
      form[#form + 1] = word
    end
    for at = 2, #shape do
      form[#form + 1] = shape[at]
    end
    forms[command] = form
  end
end

local function is_missing(command)
  local form = forms[command]
  if not form then
    return false
  end
  if check then
    local known, allowed = pcall(check, unpack(form))
    return known and not allowed
  end
  -- Tried. With these arguments it fails or changes the key at most.
  local reply = redis.pcall(unpack(form))
  return type(reply) == 'table' and reply.err and is_denial(reply.err) and true
end

if not check then
  for _, command in ipairs(ARGV) do
    if command == 'del' and is_missing(command) then
      return { command }
    end
  end
end
local missing = {}
for _, command in ipairs(ARGV) do
  if is_missing(command) then
    missing[#missing + 1] = command
  end
end
if not check then
  redis.pcall('DEL', key) -- a server that refuses to write has not written it
end
return missing
