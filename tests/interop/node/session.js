'use strict';
// The open objects of one driver process: queues, workers and event captures, by their address.

const IORedis = require('ioredis');
const { scriptedProcessor } = require('./scripted');
const { withTelemetry } = require('./telemetry');

class Session {
  constructor(library, url) {
    this.bullmq = require(library);
    this.url = new URL(url);
    this.handles = new Map();
    this.connections = new Map();
    this.process = scriptedProcessor(this.bullmq, (job, queue) =>
      this.queue({ ...job.queue.address, ...(queue && { queue }) }));
  }

  /** One shared connection per database; BullMQ duplicates it where it has to block. */
  connection(db) {
    if (!this.connections.has(db)) {
      const { protocol, hostname, port } = this.url;
      const [node, options] = [{ host: hostname, port: Number(port) }, { maxRetriesPerRequest: null }];
      const client = protocol === 'redis+cluster:'
        ? new IORedis.Cluster([node], { redisOptions: options })
        : new IORedis({ ...node, ...options, db });
      this.connections.set(db, client);
    }
    return this.connections.get(db);
  }

  queue({ db, prefix, queue }, opts = {}) {
    return this.open('queue', { db, prefix, queue, opts }, options => new this.bullmq.Queue(queue, options));
  }

  flows({ db, prefix, queue }, opts = {}) {
    return this.open('flows', { db, prefix, queue, opts }, options => new this.bullmq.FlowProducer(options));
  }

  /** A worker that fetches only when told to. */
  handWorker({ db, prefix, queue }, opts = {}) {
    const build = options => new this.bullmq.Worker(queue, this.process, { ...options, autorun: false });
    const worker = this.open('hand', { db, prefix, queue, opts }, build);
    worker.address = { db, prefix, queue };
    // What an earlier fetch stored must not stop this one from asking Redis.
    worker.limitUntil = 0;
    worker.blockUntil = 0;
    worker.drained = false;
    return worker;
  }

  open(kind, { db, prefix, queue, opts }, build) {
    const key = JSON.stringify([kind, db, prefix, queue, opts]);
    if (!this.handles.has(key)) {
      const handle = build({ prefix, ...withTelemetry(opts), connection: this.connection(db) });
      handle.on('error', error => process.stderr.write(`${kind} ${queue}: ${error.stack}\n`));
      this.handles.set(key, { handle, queue });
    }
    return this.handles.get(key).handle;
  }

  /** Closes every handle whose queue name starts with `stem`. */
  async close(stem) {
    const mine = [...this.handles].filter(([, { queue }]) => queue.startsWith(stem));
    mine.forEach(([key]) => this.handles.delete(key));
    await Promise.all(mine.map(([, { handle }]) => handle.close(true)));
  }
}

module.exports = { Session };
