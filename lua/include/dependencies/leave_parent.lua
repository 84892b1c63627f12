--- @include detach_child
-- A job that is removed leaves its parent. What Redis refuses there (a key of another type, a queue out of reach) keeps no job
-- from being removed: the first such error is told when all else is done.
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
      .. '. The jobs of this call are removed; delete or mend the keys of that parent, and call again if there is more to do'
  end
end

-- What a script returns that uses leave_parent.
local function reply_or_error(reply)
  return parent_error and redis.error_reply(parent_error) or reply
end
