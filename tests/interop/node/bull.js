'use strict';
// Real Bull, BullMQ's predecessor: one JSON command per input line, one reply per line. A command puts a queue into
// a state (STATES below), or is one of bull_calls.js.
// usage: node bull.js <bull1|bull11|bull2|bull30|bull3|bull4> <redis url>

const readline = require('node:readline');

const [library, url] = process.argv.slice(2);
const Bull = require(library);
const { hostname, port, pathname } = new URL(url);
const db = Number(pathname.slice(1));
const named = !['bull1', 'bull11', 'bull2'].includes(library);
const queues = new Map();
const NEVER = 3_600_000;

function queue(name) {
  if (!queues.has(name)) {
    const opened = named ? new Bull(name, { redis: { host: hostname, port: Number(port), db } }) : new Bull(name, Number(port), hostname, { db });
    opened.on('error', () => {});
    queues.set(name, opened);
  }
  return queues.get(name);
}

/** Closes no queue, but opens a new one for the next command. */
function forget(name) {
  const forgotten = queue(name);
  queues.delete(name);
  return forgotten;
}

const add = (on, data, opts, name = 'welcome') => (named && name !== null ? on.add(name, data, opts) : on.add(data, opts));
const handle = (on, handler) => { (named ? on.process('welcome', 1, handler) : on.process(1, handler)); };

/** Resolves when a job has ended so, or runs for the first time. */
function after(on, event) {
  return new Promise(resolve => on.once(event, () => setImmediate(resolve)));
}

const STATES = {
  waiting: async on => { for (const n of [1, 2]) { await add(on, { n }); } },
  delayed: async on => { await add(on, { n: 1 }, { delay: NEVER }); },
  active: async on => {
    await add(on, { n: 1 });
    await new Promise(started => { handle(on, () => { started(); return new Promise(() => {}); }); });
  },
  'failed once': async on => {
    const failed = after(on, 'failed');
    handle(on, async () => { throw new Error('not yet'); });
    await add(on, { n: 1 }, { attempts: 3, backoff: { type: 'fixed', delay: NEVER } });
    await failed;
  },
  logged: async on => {
    const job = await add(on, { n: 1 });
    await job.log('first');
    await job.log('second');
  },
  finished: async on => {
    handle(on, async job => { if (job.data.n === 2) { throw new Error('no'); } return 5; });
    const completed = after(on, 'completed');
    await add(on, { n: 1 });
    await completed;
    const failed = after(on, 'failed');
    await add(on, { n: 2 });
    await failed;
  },
  paused: async on => { await on.pause(); await add(on, { n: 1 }); },
  'paused and empty': async on => { await on.pause(); },
  repeatable: async on => { await add(on, { n: 1 }, { repeat: { cron: '0 0 * * *' } }); },
};

// A worker of 2.x that is closed while it waits for a job rejects a promise that nobody has.
process.on('unhandledRejection', () => {});

const CALLS = require('./bull_calls.js')({ library, named, open: queue, forget, add });

readline.createInterface({ input: process.stdin }).on('line', async line => {
  const { id, op, ...args } = JSON.parse(line);
  try {
    const value = STATES[op] ? (await STATES[op](queue(args.queue))) ?? null : await CALLS[op](args);
    process.stdout.write(`${JSON.stringify({ id, value: value ?? null })}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ id, error: { name: error.name, message: error.message, stack: error.stack } })}\n`);
  }
}).on('close', () => process.exit(0));

process.stdout.write('{"ready":true}\n');
