'use strict';
// BullMQ for Node as a peer. The argument names the package: bullmq5 or bullmq6.
// The conversation with the harness is described in benches/harness/peer.py.

const readline = require('node:readline');
const library = process.argv[2];
const { Queue, Worker } = require(library);
const { version } = require(`${library}/package.json`);

const NAME = 'order';
const NOTE = 'a small payload of about a hundred';

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = line => process.stdout.write(`${line}\n`);

async function hear(word) {
  const { value } = await lines.next();
  if (value !== word) {
    throw new Error(`expected ${word}, got ${value}`);
  }
}

async function ready() {
  say('ready');
  await hear('go');
}

function payloads(jobs) {
  return Array.from({ length: jobs }, (_, index) => ({
    order: index,
    customer: `c-${String(index).padStart(6, '0')}`,
    amount: (index % 997) + 0.5,
    note: NOTE,
  }));
}

async function openQueue(order) {
  const queue = new Queue(order.queue, { connection: { url: order.url } });
  await queue.waitUntilReady();
  return queue;
}

async function addBulk(order) {
  const queue = await openQueue(order);
  const jobs = payloads(order.jobs).map(data => ({ name: NAME, data }));
  await ready();
  for (let start = 0; start < jobs.length; start += order.chunk) {
    await queue.addBulk(jobs.slice(start, start + order.chunk));
  }
  say('done {}');
  await queue.close();
}

async function add(order) {
  const queue = await openQueue(order);
  const jobs = payloads(order.jobs);
  await ready();
  for (const data of jobs) {
    await queue.add(NAME, data);
  }
  say('done {}');
  await queue.close();
}

async function processJobs(order) {
  let handled = 0;
  const handle = async () => {
    handled += 1;
  };
  const worker = new Worker(order.queue, handle, {
    connection: { url: order.url, maxRetriesPerRequest: null },
    autorun: false,
    ...order.worker,
  });
  worker.on('error', error => process.stderr.write(`${error}\n`));
  await worker.waitUntilReady();
  await ready();
  const running = worker.run();
  await hear('stop');
  await worker.close();
  await running;
  say(`done ${JSON.stringify({ handled })}`);
}

const TASKS = { add_bulk: addBulk, add, process: processJobs };

async function main() {
  say(JSON.stringify({ identity: `bullmq ${version}, Node ${process.version}` }));
  for (;;) {
    const { value, done } = await lines.next();
    if (done) {
      return;
    }
    const order = JSON.parse(value);
    await TASKS[order.task](order);
  }
}

main().then(
  () => process.exit(0),
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
