-- Whether a job was made by a scheduler, according to its options; in a queue of BullMQ 6 by one that is still there.
local function is_repeated(P, job_key, of_6)
  if of_6 then
    local scheduler = call('HGET', job_key, 'rjk')
    return scheduler and (call('ZSCORE', P .. 'repeat', scheduler) or call('EXISTS', P .. 'repeat:' .. scheduler) == 1)
  end
  local opts = call('HGET', job_key, 'opts')
  -- Decoding is slow, and most options do not contain `repeat`.
  if not opts or not string.find(opts, '"repeat"', 1, true) then
    return false
  end
  local ok, decoded = pcall(cjson.decode, opts)
  return ok and type(decoded) == 'table' and decoded['repeat'] ~= nil
end
