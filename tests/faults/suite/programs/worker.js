'use strict';
// A worker of real BullMQ 5.62.0 in its own process; worker.py is the same for ours.
// usage: node worker.js node <url> <ledger file> <JSON: {queue, concurrency, lockDuration, ...}>

const fs = require('node:fs');
const path = require('node:path');
const { connect, bullmq } = require('./connection');

const [, url, ledger, settings] = process.argv.slice(2);
const { queue, ...opts } = JSON.parse(settings);
const lines = fs.openSync(ledger, 'a');
const stem = path.basename(ledger).split('.')[0];
const CRASHED = 13;
let runs = 0;

function note(fact, key, run, start = 0) {
  fs.writeSync(lines, `${fact} ${process.hrtime.bigint()} ${key} ${run} ${start}\n`);
}

async function work(job) {
  const { k, ms, fails, hopeless, kills } = job.data;
  const { kills_once: killsOnce, hungry_once: hungryOnce, exits_once: exitsOnce } = job.data;
  const run = `${stem}.${runs++}`;
  note('b', k, run, job.attemptsStarted);
  if (kills || ((killsOnce || hungryOnce) && job.attemptsStarted === 1)) {
    process.kill(process.pid, 'SIGKILL');
  }
  if (exitsOnce && job.attemptsStarted === 1) {
    process.exit(CRASHED);
  }
  await new Promise(resolve => setTimeout(resolve, ms ?? 0));
  note('e', k, run);
  if (hopeless) {
    throw new bullmq.UnrecoverableError(JSON.stringify({ run }));
  }
  if (job.attemptsMade < (fails ?? 0)) {
    throw new Error(JSON.stringify({ run }));
  }
  return { run, k };
}

const worker = new bullmq.Worker(queue, work, { ...opts, connection: connect(url) });
worker.on('completed', (_job, result) => note('d', result.k, result.run));
worker.on('error', error => console.error(new Date().toISOString(), error.message));
process.on('SIGTERM', async () => {
  await worker.close();
  process.exit(0);
});
