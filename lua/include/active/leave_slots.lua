--- @include get_target
--- @include add_marker
-- Leaves the slots of jobs that have left active to other workers: sets the marker if a job is ready to take one.
local function leave_slots(P, known)
  local _, blocked = get_target(P, known)
  if not blocked and (call('LLEN', P .. 'wait') > 0 or call('ZCARD', P .. 'prioritized') > 0) then
    add_marker(P, blocked)
  end
end
