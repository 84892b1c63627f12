'use strict';
// BullMQ for Node as a peer. The argument names the package: bullmq5 or bullmq6.
// The protocol with the harness is described in benches/harness/peer.py.

const readline = require('node:readline');
const library = process.argv[2];
const { FlowProducer, Queue, Worker } = require(library);
const { version } = require(`${library}/package.json`);

const NAME = 'order';
const NOTE = 'a small payload of about a hundred';

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
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

function payloads({ jobs, payload }) {
  const note = NOTE + 'x'.repeat(Math.max(0, payload - 100));
  return Array.from({ length: jobs }, (_, index) => ({
    order: index,
    customer: `c-${String(index).padStart(6, '0')}`,
    amount: (index % 997) + 0.5,
    note,
  }));
}

// Microseconds of a clock that all processes of the machine share.
const now = () => Number(process.hrtime.bigint() / 1000n);

async function openQueue(order) {
  const queue = new Queue(order.queue, { connection: { url: order.url } });
  await queue.waitUntilReady();
  return queue;
}

async function addBulk(order) {
  const queue = await openQueue(order);
  const jobs = payloads(order).map(data => ({ name: NAME, data }));
  await ready();
  for (let start = 0; start < jobs.length; start += order.chunk) {
    await queue.addBulk(jobs.slice(start, start + order.chunk));
  }
  say('done {}');
  await queue.close();
}

async function add(order) {
  const queue = await openQueue(order);
  const jobs = payloads(order);
  await ready();
  for (const data of jobs) {
    await queue.add(NAME, data);
  }
  say('done {}');
  await queue.close();
}

async function addConcurrent(order) {
  const queue = await openQueue(order);
  const jobs = payloads(order);
  await ready();
  let next = 0;
  const addNext = async () => {
    while (next < jobs.length) {
      await queue.add(NAME, jobs[next++]);
    }
  };
  await Promise.all(Array.from({ length: order.inflight }, addNext));
  say('done {}');
  await queue.close();
}

async function addPaced(order) {
  const queue = await openQueue(order);
  await ready();
  const began = now();
  for (let index = 0; index < order.jobs; index += 1) {
    await sleep((began + (index * 1e6) / order.rate - now()) / 1000);
    await queue.add(NAME, { sent: now() });
  }
  say('done {}');
  await queue.close();
}

async function addFlows(order) {
  const producer = new FlowProducer({ connection: { url: order.url } });
  await producer.waitUntilReady();
  const node = { name: NAME, queueName: order.queue, data: {} };
  const flow = { ...node, children: Array.from({ length: order.children }, () => ({ ...node })) };
  await ready();
  for (let start = 0; start < order.jobs; start += order.chunk) {
    await producer.addBulk(Array.from({ length: Math.min(order.chunk, order.jobs - start) }, () => flow));
  }
  say('done {}');
  await producer.close();
}

function openWorker(order, handle) {
  const worker = new Worker(order.queue, handle, {
    connection: { url: order.url, maxRetriesPerRequest: null },
    autorun: false,
    ...order.worker,
  });
  worker.on('error', error => process.stderr.write(`${error}\n`));
  return worker;
}

async function processJobs(order) {
  let handled = 0;
  const latencies = [];
  const handlers = {
    noop: async () => {
      handled += 1;
    },
    sleep: async () => {
      await sleep(order.sleep);
      handled += 1;
    },
    record: async job => {
      latencies.push(now() - job.data.sent);
      handled += 1;
    },
  };
  const worker = openWorker(order, handlers[order.act ?? 'noop']);
  await worker.waitUntilReady();
  await ready();
  const running = worker.run();
  await hear('stop');
  await worker.close();
  await running;
  say(`done ${JSON.stringify({ handled, latencies })}`);
}

// Reads all completed jobs, page by page.
async function read(order) {
  const queue = await openQueue(order);
  await ready();
  let handled = 0;
  let orders = 0;
  for (let jobs; handled === 0 || jobs.length > 0; ) {
    jobs = await queue.getJobs(['completed'], handled, handled + order.chunk - 1, true);
    handled += jobs.length;
    orders += jobs.reduce((sum, job) => sum + job.data.order, 0);
  }
  say('handled');
  await hear('stop');
  say(`done ${JSON.stringify({ handled, orders })}`);
  await queue.close();
}

// Takes all jobs and keeps them until the stop.
async function hold({ concurrency, lock_duration: lockDuration, ...rest }) {
  const order = { ...rest, worker: { concurrency, lockDuration } };
  let release;
  let handled = 0;
  const released = new Promise(resolve => (release = resolve));
  const worker = openWorker(order, async () => {
    handled += 1;
    await released;
  });
  await worker.waitUntilReady();
  await ready();
  const running = worker.run();
  await hear('stop');
  release();
  await worker.close();
  await running;
  say(`done ${JSON.stringify({ handled })}`);
}

// Looks for stalled jobs and does nothing else.
async function checkStalled(order) {
  const worker = openWorker({ ...order, worker: { stalledInterval: order.interval } }, async () => {});
  await worker.waitUntilReady();
  await ready();
  await worker.startStalledCheckTimer();
  await hear('stop');
  await worker.close(true);
  say('done {}');
}

// Runs many workers with one slot each; their handlers record when they start.
async function wake(order) {
  const starts = [];
  await ready();
  const workers = Array.from({ length: order.workers }, () =>
    openWorker({ ...order, worker: { concurrency: 1 } }, async () => {
      starts.push(now());
      await sleep(order.sleep);
    }),
  );
  await Promise.all(workers.map(worker => worker.waitUntilReady()));
  const running = workers.map(worker => worker.run());
  await hear('stop');
  await Promise.all(workers.map(worker => worker.close()));
  await Promise.all(running);
  say(`done ${JSON.stringify({ starts })}`);
}

const TASKS = {
  add_bulk: addBulk,
  add,
  add_concurrent: addConcurrent,
  add_paced: addPaced,
  add_flows: addFlows,
  process: processJobs,
  read,
  hold,
  check_stalled: checkStalled,
  wake,
};

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
