--- @include undo_enter
-- Takes back what was written about a job that turned out not to be active (`batch.unsure`, see finish_runs): first its
-- place, since a job is in one place only, then its event and its outcome. All is tried before an error is raised.
local function take_back(P, batch)
  local unsure, failed = batch.unsure, nil
  local fields = { 'atm', 'returnvalue', 'finishedOn' }
  for i = 1, #unsure.stamp, 2 do
    fields[#fields + 1] = unsure.stamp[i]
  end
  local function try(...)
    local reply = redis.pcall(...)
    failed = failed or type(reply) == 'table' and reply.err
  end
  if unsure.is_new and not pcall(undo_enter, { ids = { unsure.id }, key = unsure.set_key }) then
    try('ZREM', unsure.set_key, unsure.id)
  end
  if batch.first_event then
    try('XDEL', P .. 'events', batch.first_event)
  end
  if unsure.recorded then
    try('HDEL', P .. unsure.id, unpack(fields))
  end
  if failed then
    error(failed, 0)
  end
  batch.unsure, batch.entered[1], batch.first_event = nil, nil, false
end
