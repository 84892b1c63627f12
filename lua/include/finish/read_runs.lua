-- Reads the arguments of move_to_finished, and nothing else. Returns the state of the call, or nil and what is
-- malformed. The state is one table: each local of the script that a function names costs the server as much as a small
-- command.
local function read_runs(P, ARGV)
  local size, fetch_count = #ARGV, tonumber(ARGV[3])
  if not tonumber(ARGV[1]) or not tonumber(ARGV[2]) or not fetch_count or size < 12 then
    return nil, 'arguments'
  end
  local runs, ids, job_keys, lock_keys, rare_keys, sets = {}, {}, {}, {}, {}, {}
  local first, jobs, keys = 13, 0, 0
  local results = ARGV[13] == 'results' and { -- the queue for results
    P = ARGV[14], opts = ARGV[15], runs = {}, -- its prefix, and what is to be added there (see note_result)
    added = {}, places = {}, sources = {}, -- per run: what was added, where, and of which jobs
  }
  if results then
    first = 16
  end
  while first < size or first == size and ARGV[size] ~= 'fan_out' do
    local count, target, ats, value = tonumber(ARGV[first]), ARGV[first + 1], ARGV[first + 5], ARGV[first + 7]
    local completed, keep_count = target == 'completed', tonumber(ARGV[first + 3])
    local width = (target == 'failed' and 4 or value == '' and 2 or 1) + (ats == '' and 0 or 1)
    local next_run = count and first + 8 + count * width
    if not count or count < 1 or not (completed or target == 'failed') or not keep_count or not value
      or next_run > size + 1 then
      return nil, 'run at argument ' .. first
    end
    for at = first + 8 + (ats == '' and 0 or 1), next_run - 1, width do
      local id = ARGV[at]
      local job_key = P .. id
      jobs = jobs + 1
      ids[jobs], job_keys[jobs], lock_keys[jobs] = id, job_key, job_key .. ':lock'
      if completed then
        keys = keys + 2
        rare_keys[keys - 1], rare_keys[keys] = job_key .. ':dependencies', job_key .. ':unsuccessful'
      end
    end
    runs[#runs + 1] = {
      count = count, target = target, completed = completed, set_key = P .. target, token = ARGV[first + 2],
      keep_count = keep_count, keep_age = tonumber(ARGV[first + 4]), ats = ats ~= '' and ats,
      plain_fields = tonumber(ARGV[first + 6]), value = value ~= '' and value, first = first + 8, width = width,
    }
    sets[P .. target] = true
    first = next_run
  end
  return {
    fetch_count = fetch_count, runs = runs,
    ids = ids, job_keys = job_keys, lock_keys = lock_keys, -- in the order of the jobs
    rare_keys = rare_keys, -- those about the children of the jobs that complete
    sets = sets, -- the finished sets, as keys
    run_list = ARGV[12] ~= '' and P .. 'ext:run-' .. ARGV[12], -- the list of the worker's run, if it has one
    results = results,
    listed = {}, -- the ids that were appended to it
    locks = {}, -- the token in each job's lock, or false
    has_children = false, -- whether a job that completes has pending or failed children
    may_be_marked = false, -- whether there are jobs in `stalled`; true also if this is not known
    first_delayed = nil, -- as for promote_delayed
    refused = {}, -- index, code, ...
    seen = {}, -- the ids of the jobs whose token is right
    released = 0, released_keys = {}, -- how many locks are released at the end, and which
    entered = {}, -- { set_key, { score, id, ... } }, ...
    unsure = nil, -- the only job of the call, while it is not known whether it is active (see finish_runs)
    first_event = false, -- the id of the first event about an outcome
    finished = false, -- whether any job has finished
    errors = {}, -- key, error, ... of other jobs
    fans_out = first == size, -- whether jobs that become ready get the markers of fan_out
  }
end
