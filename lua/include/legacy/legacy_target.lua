-- The list where a job of Bull that may run now waits.
local function legacy_target(P)
  return P .. (call('EXISTS', P .. 'meta-paused') == 1 and 'paused' or 'wait')
end
