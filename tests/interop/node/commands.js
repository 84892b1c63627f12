'use strict';
// The driver's commands. `at` is the address of a queue: {db, prefix, queue}.

const { liveCommands } = require('./live');
const { runWorker } = require('./worker_run');
const { takeSpans } = require('./telemetry');

/**
 * Reads a job through `owner`, whose options then decide keep rules, limiter and metrics. A job that is gone gets a
 * stand-in, so that the script is called and its refusal can be seen.
 */
async function jobOf({ bullmq: { Job } }, owner, jobId) {
  return (await Job.fromId(owner, jobId)) ?? Job.fromJSON(owner, { data: '{}', opts: '{}' }, jobId);
}

function errorFrom(session, { message, unrecoverable, stack }) {
  const error = unrecoverable ? new session.bullmq.UnrecoverableError(message) : new Error(message);
  error.stack = stack ?? `Error: ${message}\n    at handler (worker.js:1:1)`;
  return error;
}

/** The next job that a finish returns, prepared like in the worker. */
async function nextJob(worker, result, token) {
  const [data, id] = Array.isArray(result) ? result : [];
  return data ? worker.nextJobFromJobData(data, id, token) : null;
}

const commands = {
  /** Every command may bring a clock; this one does nothing else. */
  clock: () => null,

  close: (session, { stem }) => session.close(stem),

  /** Any method of Queue. */
  queue: (session, { at, opts, method, args }) => session.queue(at, opts)[method](...args),

  /** Any method of Job, on the job as it is in Redis now. */
  async job(session, { at, jobId, method, args }) {
    const job = await jobOf(session, session.queue(at), jobId);
    const value = await job[method](...args);
    return value === undefined ? null : value;
  },

  /** Any method of FlowProducer. */
  flows: (session, { at, opts, method, args }) => session.flows(at, opts)[method](...args),

  cron: ({ bullmq }, { after, repeat }) => bullmq.defaultRepeatStrategy(after, repeat),

  /** The next firings of many patterns: `rows` of [pattern, tz, after]; null for never, false for a pattern that is refused. */
  crons: ({ bullmq }, { rows }) => rows.map(([pattern, tz, after]) => {
    try {
      return bullmq.defaultRepeatStrategy(after, { pattern, tz });
    } catch {
      return false;
    }
  }).map(firing => firing ?? null),

  fetch: (session, { at, worker, token }) => session.handWorker(at, worker).getNextJob(token, { block: false }),

  async complete(session, { at, worker, jobId, value, token, fetchNext }) {
    const owner = session.handWorker(at, worker);
    const job = await jobOf(session, owner, jobId);
    return nextJob(owner, await job.moveToCompleted(value, token, fetchNext), token);
  },

  async fail(session, { at, worker, jobId, error, token, fetchNext }) {
    const owner = session.handWorker(at, worker);
    const job = await jobOf(session, owner, jobId);
    return nextJob(owner, await job.moveToFailed(errorFrom(session, error), token, fetchNext), token);
  },

  /** Fetches one job and runs it, and those that come with its outcome, through the worker's own pipeline. */
  async work(session, { at, worker, token }) {
    const owner = session.handWorker(at, worker);
    const ran = [];
    owner.processFn = (job, lock) => {
      ran.push(job.id);
      return session.process(job, lock);
    };
    let job = await owner.getNextJob(token, { block: false });
    const found = Boolean(job);
    while (job) {
      job = await owner.processJob(job, token, () => true, new Set());
    }
    return { found, ran };
  },

  async stalled(session, { at, worker }) {
    const recovered = [];
    const owner = session.handWorker(at, worker);
    const note = id => recovered.push(id);
    owner.on('stalled', note);
    await owner.moveStalledJobsToWait();
    owner.off('stalled', note);
    return recovered;
  },

  extendLocks(session, { at, jobIds, tokens, duration }) {
    const worker = session.handWorker(at);
    // Since 5.66 it is a method of its own.
    return worker.extendJobLocks
      ? worker.extendJobLocks(jobIds, tokens, duration)
      : worker.scripts.extendLocks(jobIds, tokens, duration);
  },

  spans: () => takeSpans(),

  runWorker,

  ...liveCommands,
};

module.exports = { commands };
