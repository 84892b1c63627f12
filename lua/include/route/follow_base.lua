-- A route follows the rules that its base follows now; see follows_6. If that is refused, the route has older ones.
local function follow_base(P, R)
  local rules = call('HMGET', P .. 'meta', 'ext:compat', 'version')
  for n, field in ipairs({ 'ext:compat', 'version' }) do
    if rules[n] then
      redis.pcall('HSET', R .. 'meta', field, rules[n])
    else
      redis.pcall('HDEL', R .. 'meta', field)
    end
  end
end
