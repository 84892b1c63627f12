-- Runs a step that changes keys of other jobs; it may delay a job. An error there (a key of another type, a queue out
-- of reach) is noted and does not stop the batch. Returns it as text.
local function try_step(batch, key, step, ...)
  batch.first_delayed = nil
  local done, failed = pcall(step, ...)
  if not done then
    failed = type(failed) == 'table' and failed.err or tostring(failed)
    batch.errors[#batch.errors + 1] = key
    batch.errors[#batch.errors + 1] = failed
    return failed
  end
end
