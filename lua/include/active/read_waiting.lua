-- Reads at most `wanted` ids that are next to run: those of `wait` first, then prioritized ones. They stay there.
-- Returns the ids, the scores of the prioritized ones, and how many are from `wait`.
local function read_waiting(P, wanted)
  local ids, scores, waiting = {}, {}, 0
  if wanted < 1 then
    return ids, scores, 0
  end
  local list_key = P .. 'wait'
  local byte = string.byte
  local listed
  repeat
    if wanted == 1 then
      listed = { call('LINDEX', list_key, '-1') or nil } -- costs a third of LRANGE
    else
      listed = call('LRANGE', list_key, -wanted, '-1')
    end
    waiting = #listed
    local markers = false
    for i = waiting, 1, -1 do
      local id = listed[i]
      if byte(id, 2) == 58 and byte(id) == 48 then -- `0:...` is a wake-up marker of an old version, not a job
        call('LREM', list_key, '-1', id)
        markers = true
      end
      ids[waiting - i + 1] = id
    end
    if markers then
      ids = {} -- the next look may find fewer
    end
  until not markers
  if waiting < wanted then
    local ranked = call('ZRANGE', P .. 'prioritized', '0', wanted - waiting - 1, 'WITHSCORES')
    for i = 1, #ranked, 2 do
      ids[#ids + 1], scores[#scores + 1] = ranked[i], ranked[i + 1]
    end
  end
  return ids, scores, waiting
end
