-- Takes a number for a new job of Bull. Returns it and the job's id: `custom`, or the number where that is ''. Numbers
-- that are ids already are left out: Bull itself would write into such a job's hash.
local function new_legacy_id(P, custom)
  local number = call('INCR', P .. 'id')
  while custom == '' and call('EXISTS', P .. number) == 1 do
    number = call('INCR', P .. 'id')
  end
  return number, custom == '' and string.format('%d', number) or custom
end
