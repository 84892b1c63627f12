'use strict';
// What users of real Bull do with a queue: they add and produce jobs, work them and wait for them.

const LAST_RESORT = 50; // milliseconds between two looks of a caller that has nothing better than to look again
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

/** The commands of bull.js for one version of Bull; `open` gives the queue of that name, and `forget` drops it. */
module.exports = function calls({ library, named, open, forget, add }) {
  const worked = new Map();
  const produced = new Map();
  const waits = new Map();

  async function end(on, id) {
    const job = await on.getJob(id);
    try {
      if (library.startsWith('bull1')) {
        // A caller of 1.x hears of nothing that another process did: it looks again and again.
        while (!(await job.isCompleted())) {
          if (await job.isFailed()) {
            const [trace] = (await on.getJob(id)).stacktrace.slice(-1);
            return { failed: String(trace).split('\n')[0].replace(/^Error: /, '') };
          }
          await pause(LAST_RESORT);
        }
        return { value: (await on.getJob(id)).returnvalue };
      }
      const value = await job.finished();
      // finished() of 2.x resolves with nothing.
      return { value: named ? value : (await on.getJob(id)).returnvalue };
    } catch (error) {
      return { failed: error.message };
    }
  }

  return {
    /** Adds a job, with `name` where this Bull has names ("welcome" unless given, the default of Bull with null). */
    add: async ({ queue, data = {}, opts, name }) => {
      const job = await add(open(queue), data, opts, name);
      return String(job.id ?? job.jobId);
    },

    /** Starts a worker; `data` says what a job does: {fail: reason}, {hang: true}, {ms: how long}. */
    work: async ({ queue, concurrency = 1 }) => {
      const runs = [];
      worked.set(queue, runs);
      const handler = async job => {
        runs.push([String(job.id ?? job.jobId), Date.now()]);
        const { fail, hang, ms, n = null } = job.data ?? {};
        if (hang) { await new Promise(() => {}); }
        if (ms) { await pause(ms); }
        if (fail) { throw new Error(fail); }
        return { worked: n };
      };
      const on = open(queue);
      const running = named ? on.process('welcome', concurrency, handler) : on.process(concurrency, handler);
      if (running) { running.catch(() => {}); } // It ends with an error when the queue is closed.
      for (const name of named ? ['__default__', '*'] : []) { on.setHandler(name, handler); }
      return null;
    },

    /** All runs of this process' worker so far: [[id, milliseconds when it began], ...], a retried job more than once. */
    worked: async ({ queue }) => worked.get(queue) ?? [],

    /** Starts to wait for the end of a job, as a caller does with job.finished(). */
    wait_for: async ({ queue, job }) => {
      waits.set(`${queue} ${job}`, end(open(queue), job));
      return null;
    },

    /** How a job ended: {value} or {failed: reason}; the reply comes only then. */
    outcome: async ({ queue, job }) => waits.get(`${queue} ${job}`) ?? end(open(queue), job),

    /** Adds `rate` jobs a second, data {n: 0, 1, ...}, until told to stop; `opts` is one for all jobs, or a list to go through again and again. */
    produce: async ({ queue, rate, opts = {} }) => {
      const on = open(queue);
      const run = { acknowledged: [], under_way: new Set(), failed: 0 };
      const [kinds, began] = [[].concat(opts), Date.now()];
      let n = 0;
      const tick = () => {
        for (const due = ((Date.now() - began) * rate) / 1000; n < due; n += 1) {
          const adding = add(on, { n }, { ...kinds[n % kinds.length] })
            .then(job => run.acknowledged.push(String(job.id ?? job.jobId)), () => { run.failed += 1; })
            .finally(() => run.under_way.delete(adding));
          run.under_way.add(adding);
        }
      };
      run.timer = setInterval(tick, Math.min(20, 1000 / rate));
      produced.set(queue, run);
      return null;
    },

    /** The ids that Redis has acknowledged to the producer so far. */
    produced: async ({ queue }) => produced.get(queue).acknowledged,

    /** Ends the producer, and returns all ids that Redis has acknowledged to it. */
    stop_producing: async ({ queue }) => {
      const run = produced.get(queue);
      clearInterval(run.timer);
      await Promise.all(run.under_way);
      return run.acknowledged;
    },

    /** Removes a repeatable by its key, or by the name and the options with which it was added. */
    remove_repeatable: async ({ queue, key, name, repeat }) => {
      await (key ? open(queue).removeRepeatableByKey(key) : open(queue).removeRepeatable(name, repeat));
      return null;
    },

    pause: async ({ queue }) => { await open(queue).pause(); return null; },
    resume: async ({ queue }) => { await open(queue).resume(); return null; },

    /** How many jobs there are in each state, as Bull counts them itself. */
    counts: async ({ queue }) => {
      const on = open(queue);
      const states = ['Waiting', 'Paused', 'Active', 'Delayed', 'Completed', 'Failed'];
      const counts = await Promise.all(states.map(state => on[`get${state}Count`]()));
      return Object.fromEntries(states.map((state, at) => [state.toLowerCase(), counts[at]]));
    },

    /** A job as Bull itself reads it: {state, ...its fields}. */
    get: async ({ queue, job }) => {
      const found = await open(queue).getJob(job);
      return found && { state: await found.getState(), ...(found.toJSON ? found.toJSON() : found.toData()) };
    },

    /** Adds a row to the log of a job (from 3.29 on). */
    log: async ({ queue, job, row }) => { await (await open(queue).getJob(job)).log(row); return null; },

    /** Closes the queue without waiting for jobs that run: they stay in `active`, their locks run out. */
    close: async ({ queue }) => { await Promise.race([forget(queue).close(true), pause(2000)]); return null; },
  };
};
