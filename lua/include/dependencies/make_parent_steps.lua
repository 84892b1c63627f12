-- Makes the functions that change the parent of a finished job: tell_parent and detach_child; the third result are the
-- parents that they release (see note_ready). Made once per call, when needed.
local function make_parent_steps()
  --- @include read_parent
  --- @include release_parent_if_done
  --- @include fail_dependency
  --- @include detach_child
  --- @include note_ready
  local function tell_parent(now, job_key, parent_key, parent_json, completed, value)
    local parent = read_parent(parent_key, parent_json)
    if not completed then
      fail_dependency(parent, job_key, value, now)
    elseif call('SISMEMBER', parent.key .. ':dependencies', job_key) == 1 then
      call('HSET', parent.key .. ':processed', job_key, value)
      call('SREM', parent.key .. ':dependencies', job_key)
      release_parent_if_done(parent.P, parent.id, now)
    elseif call('HEXISTS', parent.key .. ':processed', job_key) == 1 then -- counted by a call that was stopped
      release_parent_if_done(parent.P, parent.id, now)
    end
  end
  return tell_parent, detach_child, ready
end
