-- Removes a child from its parent: the parent no longer waits for it, and is released if it was the last one.
-- KEYS[1] <prefix>:<queue>:meta
-- ARGV    id (of the child)
-- Returns 1; 0 the parent did not wait for it; -1 no such job; -5 it has no parent, or the parent is gone
-- Events  waiting (jobId, prev=waiting-children) for a parent that loses its last dependency
local call = redis.call
--- @include detach_child
local P = string.sub(KEYS[1], 1, -5)
local job_key = P .. ARGV[1]
if call('EXISTS', job_key) == 0 then
  return -1
end
local link = call('HMGET', job_key, 'parentKey', 'parent')
if not link[1] or call('EXISTS', link[1]) == 0 then
  return -5
end
if not detach_child(P, job_key, link[1], link[2], false) then
  return 0
end
call('HDEL', job_key, 'parentKey', 'parent')
return 1
