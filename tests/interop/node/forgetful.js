'use strict';
// A queue of BullMQ that keeps no job: adds jobs and runs them, of which some fail; ends when all have ended.
// node forgetful.js LIBRARY REDIS_PORT DATABASE QUEUE JOBS FAIL_EACH PER_SECOND (0: as fast as it can)

const [library, port, db, name, jobs, failEach, perSecond] = process.argv.slice(2);
const { Queue, Worker } = require(library);
const connection = { port: Number(port), db: Number(db), maxRetriesPerRequest: null };
const COUNT = Number(jobs);
const PAGE = Number(perSecond) ? Number(perSecond) / 20 : 500;

async function main() {
  const queue = new Queue(name, { connection });
  let ended = 0;
  let allEnded;
  const end = new Promise(resolve => (allEnded = resolve));
  const worker = new Worker(
    name,
    async job => {
      if (job.data.n % Number(failEach) === 0) throw new Error(`no such user ${job.data.n}`);
      return { sent: job.data.n };
    },
    { connection, concurrency: 50 },
  );
  for (const event of ['completed', 'failed']) {
    worker.on(event, () => {
      ended += 1;
      if (ended === COUNT) allEnded();
    });
  }
  const began = Date.now();
  for (let at = 0; at < COUNT; at += PAGE) {
    if (Number(perSecond)) {
      const early = began + (at / Number(perSecond)) * 1000 - Date.now();
      await new Promise(resolve => setTimeout(resolve, Math.max(early, 0)));
    }
    const page = Array.from({ length: Math.min(PAGE, COUNT - at) }, (_, index) => ({
      name: (at + index) % 2 ? 'welcome' : 'digest',
      data: { n: at + index },
      opts: { jobId: `user-${at + index}`, removeOnComplete: 0, removeOnFail: 0 },
    }));
    await queue.addBulk(page);
  }
  await end;
  await worker.close();
  await queue.close();
  process.exit(0);
}

main();
