'use strict';
// A worker that runs by itself until nothing is left to do; records all that its handler and its listeners see.
// tests/interop/random/worker_run.py is the same for our side.

const { plain } = require('./plain');

const POLL_MS = 5;
const HUNG_MS = 15000;

const seen = job => job && JSON.parse(JSON.stringify(plain(job)));

/** Returns whether no job is left, with `delays` no delayed one either. */
async function isIdle(client, { prefix, queue }, delays) {
  const key = name => `${prefix}:${queue}:${name}`;
  const lengths = await Promise.all([
    client.llen(key('wait')), client.llen(key('active')), client.zcard(key('prioritized')),
    delays ? client.zcard(key('delayed')) : 0,
  ]);
  return lengths.every(length => length === 0);
}

async function runWorker(session, { at, opts, delays }) {
  const client = session.connection(at.db);
  const saw = { runs: [], active: [], outcomes: [], progress: [], drained: [], errors: [] };
  const handler = (job, token) => {
    saw.runs.push(seen(job));
    return session.process(job, token);
  };
  const worker = new session.bullmq.Worker(at.queue, handler, { prefix: at.prefix, ...opts, connection: client });
  worker.address = at;
  worker.on('active', job => saw.active.push(seen(job)));
  worker.on('completed', (job, result) => saw.outcomes.push(['completed', seen(job), result ?? null]));
  worker.on('failed', (job, error) => saw.outcomes.push(['failed', seen(job), error.message]));
  worker.on('progress', (job, progress) => saw.progress.push([seen(job), progress]));
  worker.on('drained', () => saw.drained.push('drained'));
  worker.on('error', error => saw.errors.push(error.message));
  await worker.waitUntilReady();
  const began = Date.now();
  while (!(saw.drained.length && (await isIdle(client, at, delays))) && Date.now() - began < HUNG_MS) {
    await new Promise(resolve => setTimeout(resolve, POLL_MS));
  }
  await worker.close();
  return saw;
}

module.exports = { runWorker };
