'use strict';
// BullMQ for Node, for growth.py: `add N` adds jobs, `work N` works that many; each ends with a line.

const readline = require('node:readline');
const { Queue, Worker } = require('bullmq5');

const [url, name] = process.argv.slice(2);
const connection = { url, maxRetriesPerRequest: null };
const queue = new Queue(name, { connection });

async function add(count) {
  for (let begin = 0; begin < count; begin += 1000) {
    const size = Math.min(1000, count - begin);
    await queue.addBulk(Array.from({ length: size }, () => ({ name: 'n', data: { text: 'x'.repeat(80) } })));
  }
}

async function work(count) {
  let done = 0;
  let all;
  const worked = new Promise(resolve => (all = resolve));
  const handler = async () => {
    done += 1;
    if (done >= count) all();
  };
  const worker = new Worker(name, handler, { connection, concurrency: 100, removeOnComplete: { count: 1000 } });
  await worked;
  await worker.close();
  return done;
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [what, count] = line.split(' ');
    console.log(what === 'add' ? await add(Number(count)) : await work(Number(count)));
  }
})();
