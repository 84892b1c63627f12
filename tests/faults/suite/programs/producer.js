'use strict';
// A producer of real BullMQ 5.62.0 in its own process, until SIGTERM. All its ids are its own, since ioredis sends a
// call again when its connection breaks. usage: node producer.js node <url> <ledger file> <JSON settings>

const fs = require('node:fs');
const { connect, bullmq } = require('./connection');

const [, url, ledger, given] = process.argv.slice(2);
const settings = JSON.parse(given);
const lines = fs.openSync(ledger, 'a');
const MOST_WAITING = 1500;
const BATCH = 10;
let stopped = false;
process.on('SIGTERM', () => {
  stopped = true;
  setTimeout(() => process.exit(0), 3000).unref(); // a call that waits for Redis keeps it no longer
});

/** The same as kind_of in jobs.py, for the kinds that a producer of Node adds. */
function job(n) {
  const key = `${settings.name}-${n}`;
  const data = { ms: n % 4, k: key };
  const opts = { jobId: key };
  switch (n % 50) {
    case 0: data.fails = 1; opts.attempts = 3; break;
    case 1: data.fails = 2; opts.attempts = 3; opts.backoff = { type: 'fixed', delay: 50 }; break;
    case 2: data.fails = 9; opts.attempts = 2; break;
    case 3: data.hopeless = true; opts.attempts = 5; break;
    case 4: case 5: opts.priority = 1 + (n % 3); break;
    case 6: case 7: opts.delay = n % 400; break;
    case 8: opts.lifo = true; break;
    case 9: data.ms = 150; break;
  }
  return { name: 'work', data, opts };
}

async function main() {
  const queue = new bullmq.Queue(settings.queue, { connection: connect(url), ...settings.nodeOptions });
  queue.on('error', error => console.error(new Date().toISOString(), error.message));
  for (let n = 0; !stopped; n += BATCH) {
    const jobs = Array.from({ length: BATCH }, (_, at) => job(n + at));
    const add = async one => {
      while (!stopped) {
        try {
          await queue.add(one.name, one.data, one.opts);
          fs.writeSync(lines, `a ${process.hrtime.bigint()} ${one.data.k} - 0\n`);
          return;
        } catch (error) {
          console.error(new Date().toISOString(), error.message);
          await new Promise(resolve => setTimeout(resolve, 50));
        }
      }
    };
    await Promise.all(jobs.map(add));
    do {
      await new Promise(resolve => setTimeout(resolve, settings.pause * 1000));
    } while (!stopped && (await queue.getWaitingCount().catch(() => MOST_WAITING)) >= MOST_WAITING);
  }
  process.exit(0);
}

main();
