-- Whether a job was made by a scheduler, according to its options.
local function is_repeated(job_key)
  local opts = call('HGET', job_key, 'opts')
  -- Decoding is slow, and most options do not contain `repeat`.
  if not opts or not string.find(opts, '"repeat"', 1, true) then
    return false
  end
  local ok, decoded = pcall(cjson.decode, opts)
  return ok and type(decoded) == 'table' and decoded['repeat'] ~= nil
end
