'use strict';
// The processor of every test worker: it does what the job's own data says, so that either side can run the same
// job. `data.runs[n]` are the actions of the n-th start, the last one repeats; without `runs` the data is
// returned. tests/interop/sides/scripted.py is the same for our side.

/** Builds the processor for one library version; `hold` keeps a job until the process ends. */
function scriptedProcessor(bullmq, queueOf) {
  const { DelayedError, WaitingError, WaitingChildrenError, UnrecoverableError, RateLimitError } = bullmq;
  const actions = {
    progress: (job, token, value) => job.updateProgress(value),
    log: (job, token, row) => job.log(row),
    update_data: (job, token, data) => job.updateData({ ...job.data, ...data }),
    discard: job => job.discard(),
    sleep: (job, token, ms) => new Promise(resolve => setTimeout(resolve, ms)),
    hold: () => new Promise(() => {}),
    throw: (job, token, message) => {
      throw new Error(message);
    },
    unrecoverable: (job, token, message) => {
      throw new UnrecoverableError(message);
    },
    delay: async (job, token, ms) => {
      await job.moveToDelayed(Date.now() + ms, token);
      throw new DelayedError();
    },
    wait: async (job, token) => {
      await job.moveToWait(token);
      throw new WaitingError();
    },
    wait_children: async (job, token) => {
      if (await job.moveToWaitingChildren(token)) {
        throw new WaitingChildrenError();
      }
    },
    rate_limit: async (job, token, ms) => {
      await queueOf(job).rateLimit(ms);
      throw new RateLimitError();
    },
    pause: job => queueOf(job).pause(),
    add_child: async (job, token, { queue, data }) => {
      const name = queue.slice(queue.lastIndexOf(':') + 1);
      const parent = { id: job.id, queue: job.queueQualifiedName };
      await queueOf(job, name).add('child', data, { parent });
    },
  };

  return async function work(job, token) {
    const runs = job.data && job.data.runs;
    if (!Array.isArray(runs)) {
      return job.data;
    }
    const run = runs[Math.min(job.attemptsStarted, runs.length) - 1];
    for (const [action, argument] of run) {
      if (action === 'return') {
        return argument;
      }
      if (action === 'children_values') {
        return job.getChildrenValues();
      }
      await actions[action](job, token, argument);
    }
    return undefined;
  };
}

module.exports = { scriptedProcessor };
