-- What the flat hash of a job becomes when the job starts, and the number of its starts.
local function stamp_job(hash, now, worker_name)
  local stamped, size, started = {}, 0, '1'
  for field = 1, #hash, 2 do
    local name, value = hash[field], hash[field + 1]
    if name == 'ats' then
      started = (tonumber(value) or 0) + 1 .. ''
    elseif name ~= 'processedOn' and (name ~= 'pb' or not worker_name) then
      size = size + 2
      stamped[size - 1], stamped[size] = name, value
    end
  end
  stamped[size + 1], stamped[size + 2], stamped[size + 3], stamped[size + 4] = 'ats', started, 'processedOn', now
  if worker_name then
    stamped[size + 5], stamped[size + 6] = 'pb', worker_name
  end
  return stamped, started
end
