'use strict';
// A producer and a worker of BullMQ, each with a Redis user of its own, run 50 jobs of all kinds.
// usage: node rights.js <bullmq5|bullmq6> <url of the producer> <url of the worker> <queue>

const [library, producing, working, name] = process.argv.slice(2);
const { Queue, Worker, QueueEvents, FlowProducer, UnrecoverableError } = require(library);
const Redis = require('ioredis');

const errors = [];
const at = url => {
  const connection = new Redis(url, { maxRetriesPerRequest: null, disableClientInfo: true });
  connection.on('error', error => errors.push(String(error)));
  return connection;
};
const noting = one => one.on('error', error => errors.push(String(error)));

async function main() {
  const [produces, works] = [at(producing), at(working)];
  const queue = noting(new Queue(name, { connection: produces }));
  const flows = noting(new FlowProducer({ connection: produces }));
  const events = noting(new QueueEvents(name, { connection: produces }));
  const run = async job => {
    await job.updateProgress(50);
    await job.log('half');
    await job.updateData({ ...job.data, seen: true });
    if (job.name === 'never') {
      throw new UnrecoverableError('never');
    }
    if (job.name === 'again' && job.attemptsMade === 0) {
      throw new Error('once more');
    }
    return job.name === 'parent' ? Object.keys(await job.getChildrenValues()).length : job.data.n;
  };
  const options = { concurrency: 4, limiter: { max: 1000, duration: 1000 }, stalledInterval: 500, lockDuration: 2000 };
  const worker = noting(new Worker(name, run, { connection: works, metrics: { maxDataPoints: 10 }, ...options }));
  await events.waitUntilReady();

  const kinds = [{}, { delay: 100 }, { priority: 3 }, { lifo: true }, { removeOnComplete: { count: 100 } }];
  const jobs = [];
  for (let n = 0; n < 40; n++) {
    jobs.push(await queue.add('plain', { n }, { ...kinds[n % kinds.length], keepLogs: 10 }));
  }
  jobs.push(...(await queue.addBulk([0, 1].map(n => ({ name: 'plain', data: { n } })))));
  jobs.push(await queue.add('again', {}, { attempts: 2, backoff: { type: 'exponential', delay: 50 } }));
  jobs.push(await queue.add('again', {}, { attempts: 2 }));
  jobs.push(await queue.add('one', {}, { deduplication: { id: 'one', ttl: 5000 } }));
  const never = await queue.add('never', {});
  const children = [1, 2].map(n => ({ name: 'child', queueName: name, data: { n } }));
  const flow = await flows.add({ name: 'parent', queueName: name, data: {}, children });
  jobs.push(flow.job);
  await queue.upsertJobScheduler('often', { every: 60_000 }, { name: 'scheduled', data: { n: 1 } });
  await Promise.all(jobs.map(job => job.waitUntilFinished(events, 30_000)));
  await never.waitUntilFinished(events, 30_000).catch(() => {});
  await new Promise(resolve => setTimeout(resolve, 1200)); // some looks for stalled jobs
  const counts = await queue.getJobCounts();
  const workers = (await queue.getWorkers()).length;
  const failed = (await queue.getFailed()).map(job => job.failedReason);
  await queue.pause();
  await queue.resume();
  await queue.removeJobScheduler('often');
  await worker.close();
  await Promise.all([queue.close(), flows.close(), events.close()]);
  await Promise.all([produces.quit(), works.quit()]);
  process.stdout.write(JSON.stringify({ counts, workers, failed, errors }));
  process.exit(0);
}

main().catch(error => {
  process.stdout.write(JSON.stringify({ error: String(error), errors }));
  process.exit(1);
});
