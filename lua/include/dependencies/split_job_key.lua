-- Splits a full job key into the prefix of its queue (with the colon) and the id.
-- Ids may have colons (those of scheduler jobs do). So the border is the colon at which a queue's prefix ends: its meta
-- key exists, since every add ensures it. If there is none (the queue was obliterated), it is the last colon.
local function split_job_key(job_key)
  local border = #job_key
  while true do
    border = string.match(string.sub(job_key, 1, border - 1), '^.*():')
    if not border then
      return string.match(job_key, '^(.*:)(.*)$')
    end
    local P = string.sub(job_key, 1, border)
    if call('EXISTS', P .. 'meta') == 1 then
      return P, string.sub(job_key, border + 1)
    end
  end
end
