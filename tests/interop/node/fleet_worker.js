'use strict';
// Workers of real BullMQ in their own process, which tests kill; tests/interop/fleet/worker.py is the same for our side.
// usage: node fleet_worker.js <bullmq5|bullmq6> <redis url> <ledger file> <JSON: {queues, concurrency, lockDuration, ...}>

const fs = require('node:fs');
const IORedis = require('ioredis');

const [library, url, ledger, settings] = process.argv.slice(2);
const { Worker, UnrecoverableError } = require(library);
const { queues, ...opts } = JSON.parse(settings);
const connection = new IORedis(url, { maxRetriesPerRequest: null });
const CRASHED = 13;
const lines = fs.openSync(ledger, 'a');

/** Does what the job's data says: `ms` to sleep, `fails` attempts to fail, `hopeless`, `unreadable`, `exits` the process, or the result. */
async function work(job) {
  fs.writeSync(lines, `began ${job.queueName}:${job.id}\n`);
  const { n, ms, fails, hopeless, unreadable, exits } = job.data;
  if (exits && job.attemptsStarted === 1) {
    process.exit(CRASHED);
  }
  if (ms) {
    await new Promise(resolve => setTimeout(resolve, ms));
  }
  if (unreadable) {
    throw new Error('unreadable');
  }
  if (hopeless) {
    throw new UnrecoverableError('hopeless');
  }
  if (job.attemptsMade < (fails ?? 0)) {
    throw new Error(`attempt ${job.attemptsMade}`);
  }
  return { n };
}

const workers = queues.map(name => new Worker(name, work, { ...opts, connection }));
workers.forEach(worker => worker.on('error', error => console.error(library, error.message)));
process.on('SIGTERM', async () => {
  await Promise.all(workers.map(worker => worker.close()));
  process.exit(0);
});
fs.writeSync(lines, 'ready\n');
