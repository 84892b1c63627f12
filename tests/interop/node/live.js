'use strict';
// Workers and event readers that run by themselves, for the tests in which both sides run at the same time.

const running = new Map();
const captures = new Map();

function noteLocalEvents(worker) {
  const log = [];
  worker.on('completed', (job, value) => log.push(['completed', job.id, value ?? null]));
  worker.on('failed', (job, error) => log.push(['failed', job && job.id, error.message]));
  worker.on('stalled', id => log.push(['stalled', id, null]));
  worker.on('error', error => log.push(['error', null, error.message]));
  return log;
}

/** What each listener could see of its job. */
function noteJobs(worker) {
  const seen = [];
  for (const event of ['active', 'progress', 'completed', 'failed']) {
    worker.on(event, (job, detail) => {
      const { data, progress, delay, attemptsMade, attemptsStarted, stacktrace, finishedOn, failedReason, returnvalue } = job;
      const told = event === 'failed' ? [detail.message, detail.name] : event === 'active' ? null : detail;
      const ended = [attemptsMade, attemptsStarted, stacktrace.length, finishedOn !== undefined];
      seen.push([event, job.id, data, progress, delay, ...ended, failedReason ?? null, returnvalue ?? null, told ?? null]);
    });
  }
  return seen;
}

const liveCommands = {
  async startWorker(session, { at, workerId, opts }) {
    const options = { prefix: at.prefix, ...opts, connection: session.connection(at.db) };
    const worker = new session.bullmq.Worker(at.queue, session.process, options);
    worker.address = at;
    running.set(workerId, { worker, log: noteLocalEvents(worker), seen: noteJobs(worker) });
    await worker.waitUntilReady();
  },

  workerLog: (session, { workerId }) => running.get(workerId).log,

  workerSeen: (session, { workerId }) => running.get(workerId).seen,

  async closeWorker(session, { workerId, force }) {
    const { worker } = running.get(workerId);
    running.delete(workerId);
    await worker.close(force);
  },

  /** Starts to record the queue's event stream from its beginning. */
  async listen(session, { at }) {
    const events = new session.bullmq.QueueEvents(at.queue, {
      prefix: at.prefix,
      connection: session.connection(at.db).duplicate(),
      lastEventId: '0-0',
      autorun: false,
    });
    const heard = [];
    const emit = events.emit.bind(events);
    events.emit = (name, ...args) => {
      const ofOneJobOrConnection = name.includes(':');
      if (!ofOneJobOrConnection) {
        heard.push([name, typeof args[0] === 'object' ? args[0] : {}]);
      }
      return emit(name, ...args);
    };
    events.on('error', error => heard.push(['error', { message: error.message }]));
    captures.set(at.queue, { events, heard });
    await events.waitUntilReady();
    events.run().catch(() => {});
  },

  async publishEvent(session, { at, event, maxEvents }) {
    const options = { prefix: at.prefix, connection: session.connection(at.db) };
    const producer = new session.bullmq.QueueEventsProducer(at.queue, options);
    await producer.publishEvent(event, maxEvents);
    await producer.close();
  },

  heard: (session, { at }) => captures.get(at.queue).heard,

  async waitUntilFinished(session, { at, jobId }) {
    const job = await session.bullmq.Job.fromId(session.queue(at), jobId);
    return job.waitUntilFinished(captures.get(at.queue).events, 10000).catch(error => ({ failed: error.message }));
  },

  /** Adds a job, and lets a worker run all jobs, the delayed ones at once: {added: its id, runs: {id: how often}}. */
  async finishAll(session, { at }) {
    const options = { prefix: at.prefix, connection: session.connection(at.db) };
    const queue = new session.bullmq.Queue(at.queue, options);
    const { id: added } = await queue.add('last', {});
    await queue.resume();
    await queue.promoteJobs();
    const runs = {};
    const worker = new session.bullmq.Worker(at.queue, async job => { runs[job.id] = (runs[job.id] ?? 0) + 1; }, { ...options, concurrency: 50 });
    const states = ['waiting', 'active', 'prioritized'];
    while (Object.values(await queue.getJobCounts(...states)).some(count => count > 0)) {
      await new Promise(resolve => setTimeout(resolve, 5));
    }
    await worker.close();
    await queue.close();
    return { added, runs };
  },

  async unlisten(session, { at }) {
    const { events } = captures.get(at.queue);
    captures.delete(at.queue);
    await events.close();
  },
};

module.exports = { liveCommands };
