'use strict';
// What goes wrong in queues that only Node uses. Plants some of it, says "planted", and ends when its input ends.
// node incidents.js bullmq5|bullmq6 REDIS_PORT INCIDENT...

const { setTimeout: pause } = require('node:timers/promises');

const Redis = require('ioredis');

const [library, port, ...names] = process.argv.slice(2);
const { FlowProducer, Queue, Worker } = require(library);
const connection = { port: Number(port), maxRetriesPerRequest: null };
const MINUTE = 60_000;
const REASONS = ['no address', 'no template', 'no answer'];

const open = name => new Queue(name, { connection });
const work = (name, handler, options = {}) => new Worker(name, handler, { connection, ...options });
const ago = minutes => ({ timestamp: Date.now() - minutes * MINUTE });

/** Waits until a queue has so many jobs of a state. */
async function until(queue, state, count) {
  while ((await queue.getJobCounts(state))[state] < count) {
    await pause(10);
  }
}

/** Lets the first jobs start in the past, for what hangs: the worker takes its times from this clock. */
async function inThePast(minutes, block) {
  const now = Date.now;
  Date.now = () => now() - minutes * MINUTE;
  try { return await block(); } finally { Date.now = now; }
}

const INCIDENTS = {
  async noWorker() {
    await open('video').addBulk(Array.from({ length: 34 }, () => ({ name: 'encode', data: {}, opts: ago(22) })));
  },

  async forgottenPause() {
    const queue = open('reports');
    await queue.addBulk(Array.from({ length: 58 }, () => ({ name: 'monthly', data: {}, opts: ago(180) })));
    await queue.pause();
    work('reports', async () => null);
  },

  async failuresOfThreeErrors() {
    const queue = open('mail');
    await queue.addBulk(Array.from({ length: 2000 }, (_, n) => ({ name: 'welcome', data: { n } })));
    work('mail', async job => { throw new Error(REASONS[[0, 0, 0, 1, 2][job.data.n % 5]]); }, { concurrency: 50 });
    await until(queue, 'failed', 2000);
  },

  async poisonJob() {
    const queue = open('invoices');
    await queue.add('print', {});
    const lost = work('invoices', null, { lockDuration: 500 });
    await lost.getNextJob('lost');
    work('invoices', async () => null, { stalledInterval: 500, maxStalledCount: 0 });
    await until(queue, 'failed', 1);
  },

  async hungSlots() {
    const queue = open('uploads');
    await queue.setGlobalConcurrency(4);
    await queue.addBulk(Array.from({ length: 44 }, () => ({ name: 'archive', data: {}, opts: ago(25) })));
    await inThePast(25, async () => {
      work('uploads', () => new Promise(() => {}), { concurrency: 8 });
      await until(queue, 'active', 4);
    });
  },

  async hungWorker() {
    const queue = open('scans');
    await queue.addBulk(Array.from({ length: 3 }, () => ({ name: 'scan', data: {}, opts: ago(25) })));
    await inThePast(25, async () => {
      work('scans', () => new Promise(() => {}));
      await until(queue, 'active', 1);
    });
  },

  async rateLimit() {
    const queue = open('sms');
    await queue.setGlobalRateLimit(10, MINUTE);
    await queue.addBulk(Array.from({ length: 24 }, () => ({ name: 'code', data: {} })));
    work('sms', async () => null);
    await until(queue, 'completed', 10);
  },

  async brokenScheduler() {
    const queue = open('billing');
    const job = await queue.upsertJobScheduler('nightly', { pattern: '0 3 * * *' }, { name: 'close' });
    const redis = new Redis(connection);
    await redis.del(queue.toKey(job.id));
    await redis.zrem(queue.toKey('delayed'), job.id);
    await redis.quit();
    work('billing', async () => null);
  },

  async failedChild() {
    const flows = new FlowProducer({ connection });
    await flows.add({
      name: 'order', queueName: 'orders', data: {}, children: [{ name: 'pack', queueName: 'stock', data: {} }],
    });
    work('stock', async () => { throw new Error('no boxes'); });
    await until(open('stock'), 'failed', 1);
  },

  /** It is connected, and does not wait for jobs. */
  async deafWorker() {
    const queue = open('letters');
    const worker = work('letters', async () => null, { autorun: false });
    await worker.waitUntilReady();
    await queue.addBulk(Array.from({ length: 5 }, () => ({ name: 'letter', data: {}, opts: ago(12) })));
  },

  /** Redis takes no more. */
  async fullRedis() {
    const redis = new Redis(connection);
    const [, used] = /used_memory:(\d+)/.exec(await redis.info('memory'));
    await redis.config('SET', 'maxmemory', Number(used) + 8 * 2 ** 20);
    await redis.quit();
    const queue = open('logs');
    const data = { text: 'x'.repeat(2 ** 16) };
    while (await queue.add('line', data).then(() => true, () => false));
  },

  /** One name takes 50 times as long as the others. */
  async slowName() {
    const queue = open('search');
    work('search', job => pause(job.name === 'reindex' ? 1_000 : 20), { concurrency: 4 });
    let number = 0;
    const add = () => queue.add(number++ % 20 === 7 ? 'reindex' : 'index', {}, { removeOnComplete: 100 });
    setInterval(add, 200);
    await until(queue, 'completed', 2);
  },

  async healthy() {
    for (let number = 0; number < 10; number++) {
      const queue = open(`healthy-${number}`);
      work(queue.name, async () => pause(5), { concurrency: 4 });
      await queue.addBulk(Array.from({ length: 50 }, () => ({ name: 'x', data: {} })));
      setInterval(() => queue.add('x', {}, { removeOnComplete: 100 }), 200);
    }
  },
};

(async () => {
  for (const name of names) {
    await Promise.race([INCIDENTS[name](), pause(30_000).then(() => { throw new Error(`${name} takes too long`); })]);
  }
  process.stdout.write('planted\n');
})().catch(error => { process.stderr.write(`${error.stack}\n`); process.exit(1); });
process.stdin.resume().on('end', () => process.exit(0));
