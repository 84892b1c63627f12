'use strict';
// A service that shares a limit with bullrush: it knows only what `bullrush scripts --export` writes.
// usage: node limits.js <folder> <url> <limit>

const fs = require('node:fs');
const path = require('node:path');
const crypto = require('node:crypto');
const Redis = require('ioredis');

const [, , folder, url, limit] = process.argv;
const redis = new Redis(url);
for (const name of ['take', 'spend']) {
  redis.defineCommand(name, { numberOfKeys: 1, lua: fs.readFileSync(path.join(folder, 'limit', `${name}.lua`), 'utf8') });
}

// The keys that all queues with the prefix "bull" share.
const KEY = 'bull::meta';

async function withLimit(name, cost, work) {
  const grant = crypto.randomUUID();
  for (;;) {
    const [code, ms, , by] = await redis.take(KEY, '', grant, 60000, name, name, cost);
    if (code === 1) {
      try {
        return await work(ms);
      } finally {
        await redis.spend(KEY, '', grant, name, name, cost);
      }
    }
    if (code === -1) throw new Error(`a window of ${name} never allows ${cost}`);
    await new Promise(resolve => setTimeout(resolve, by === 2 ? Math.max(ms, 20) : ms));
  }
}

async function main() {
  const times = [];
  for (let n = 0; n < 30; n++) await withLimit(limit, 1, async takenAt => times.push(takenAt));
  console.log(JSON.stringify(times));
  redis.disconnect();
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
