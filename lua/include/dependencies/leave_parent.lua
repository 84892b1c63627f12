--- @include detach_child
-- Removes a job from its parent before the job itself is removed. An error there (a key of another type, a queue out of
-- reach) does not stop the removal: the first such error is returned when everything else is done.
local parent_error

local function leave_parent(P, job_key, parent_key, parent_json, hard)
  local done, failed = pcall(function()
    if parent_key and call('EXISTS', parent_key) == 1 then
      detach_child(P, job_key, parent_key, parent_json, hard)
    end
  end)
  if not done and not parent_error then
    failed = type(failed) == 'table' and failed.err or tostring(failed)
    parent_error = 'ERR parent ' .. parent_key .. ' was not told that it has lost a child: ' .. failed
      .. '. The jobs of this call are removed; delete or mend the keys of that parent, '
      .. 'and call again if there is more to do'
  end
end

-- The reply of a script that uses leave_parent.
local function reply_or_error(reply)
  return parent_error and redis.error_reply(parent_error) or reply
end
