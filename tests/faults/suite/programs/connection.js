'use strict';
// A connection of ioredis for the URLs of ours: redis://, redis+sentinel:// and redis+cluster://.

const path = require('node:path');
const modules = path.resolve(__dirname, '../../../interop/node_modules');
const IORedis = require(path.join(modules, 'ioredis'));

function connect(url, options = { maxRetriesPerRequest: null }) {
  const found = /^redis\+(sentinel|cluster):\/\/(?:(\w+):(\w+)@)?([^/]+)(?:\/([^/]+))?/.exec(url);
  if (!found) {
    return new IORedis(url, options);
  }
  const [, kind, username, password, hosts, name] = found;
  if (username) {
    options = { ...options, username, password };
  }
  const nodes = hosts.split(',').map(node => ({ host: node.split(':')[0], port: Number(node.split(':')[1]) }));
  if (kind === 'sentinel') {
    return new IORedis({ sentinels: nodes, name, ...options });
  }
  const limits = { slotsRefreshTimeout: 3000, clusterRetryStrategy: () => 100 };
  return new IORedis.Cluster(nodes, { redisOptions: options, ...limits });
}

module.exports = { connect, bullmq: require(path.join(modules, 'bullmq5')) };
