-- Takes back what was written about the only job of a call, which was not active: its event, its outcome and its place.
local function take_back(batch, job_key, events, event, stamp)
  local fields, entered = { 'atm', 'returnvalue', 'finishedOn' }, batch.entered[1]
  for i = 1, #stamp, 2 do
    fields[#fields + 1] = stamp[i]
  end
  batch.entered[1], batch.first_event = nil, false
  call('XDEL', events, event)
  call('HDEL', job_key, unpack(fields))
  if batch.is_new then -- it was not there before
    call('ZREM', entered[1], entered[2][2])
  end
end
