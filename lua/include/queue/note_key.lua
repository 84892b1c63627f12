-- Notes a key `ext:<name>` whose name ends with something of its own, before it is made: obliterate finds it in the
-- list `ext:named`. The four oldest names are looked at: those whose keys are gone are forgotten, so the list does not
-- grow, and the others become the newest. Best effort: a key that is not noted stays for its time to live.
local function note_key(P, name)
  local named, try = P .. 'ext:named', redis.pcall
  local oldest = try('LRANGE', named, '-4', '-1')
  for i = #oldest, 1, -1 do
    if try('EXISTS', P .. 'ext:' .. oldest[i]) ~= 0 then
      try('LPUSH', named, oldest[i])
    end
    if type(try('RPOP', named)) == 'table' then -- an error: the next name is not the last one
      break
    end
  end
  try('LPUSH', named, name)
end
