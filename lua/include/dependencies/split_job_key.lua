-- Split a full job key into its queue's prefix (with the colon) and the id.
-- Ids may hold colons (every scheduler job's does), so the last colon is not always the border: the border is where a
-- queue's meta key exists, which every add ensures. Without one (the queue was obliterated) the last colon must do.
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
