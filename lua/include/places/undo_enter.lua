-- Takes back the last enter_place of this call. It uses other commands than a normal move out of a place, since Redis
-- may have refused one of those.
local function undo_enter(place)
  if place.push then
    return call(place.push == 'LPUSH' and 'LPOP' or 'RPOP', place.key, #place.ids)
  end
  for _, id in ipairs(place.ids) do
    local rank = call('ZRANK', place.key, id)
    if rank then
      call('ZREMRANGEBYRANK', place.key, rank, rank)
    end
  end
end
