'use strict';
// A worker of BullMQ whose jobs fail by the bugs of a file, in five ways; ends when all have failed.
// node failing_worker.js LIBRARY REDIS_PORT DATABASE QUEUE JOBS FOLDER FILE

const fs = require('fs');
const path = require('path');
const threads = require('worker_threads');

if (!threads.isMainThread) {
  const { file, name, n } = threads.workerData;
  Promise.resolve()
    .then(() => require(file).BUGS[name](n))
    .catch(error => threads.parentPort.postMessage({ message: error.message, stack: error.stack }));
} else {
  const [library, port, db, queue, jobs, folder, name] = process.argv.slice(2);
  const { Worker } = require(library);
  const source = path.join(__dirname, name);
  const moved = path.join(folder, name);
  const released = path.join(folder, 'srv', 'releases', '42', name);
  fs.mkdirSync(path.dirname(released), { recursive: true });
  fs.writeFileSync(moved, `// moved\n\n\n${fs.readFileSync(source, 'utf8')}`);
  fs.copyFileSync(source, released);
  const files = { here: source, moved, released };

  const inThread = (name, n) =>
    new Promise((_, reject) => {
      const thread = new threads.Worker(__filename, { workerData: { file: source, name, n } });
      thread.on('message', ({ message, stack }) => reject(Object.assign(new Error(message), { stack })));
    });

  const handle = async ({ name, data: { way, n } }) => {
    if (way === 'thread') return inThread(name, n);
    if (way === 'loop') return Promise.resolve().then(() => require(source).BUGS[name](n));
    return require(files[way]).BUGS[name](n);
  };

  const worker = new Worker(queue, handle, { connection: { port: Number(port), db: Number(db) }, concurrency: 4 });
  let failed = 0;
  worker.on('failed', async () => {
    failed += 1;
    if (failed === Number(jobs)) {
      await worker.close();
      process.exit(0);
    }
  });
}
