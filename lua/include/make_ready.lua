--- @include add_marker
--- @include push_prioritized
-- A job may run now: it goes to one end of the waiting list (`push`) or, with a priority, among the prioritized; one idle
-- worker is woken for it. `target, blocked` are get_target's.
local function make_ready(P, id, priority, push, target, blocked)
  if priority == 0 then
    call(push, target, id)
  else
    push_prioritized(P, id, priority)
  end
  add_marker(P, blocked)
end
