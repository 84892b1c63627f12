'use strict';
// A program that knows bullrush only from `bullrush scripts --export`: it adds a job, runs it and completes it.
// usage: node exported.js <folder> <url> <queue>

const fs = require('node:fs');
const path = require('node:path');
const Redis = require('ioredis');
const { unpack } = require('msgpackr');

const [, , folder, url, queue] = process.argv;
const { scripts } = JSON.parse(fs.readFileSync(path.join(folder, 'scripts.json'), 'utf8'));
const redis = new Redis(url);

async function call(name, ...words) {
  const { file, sha, keys } = scripts.find(script => script.name === name);
  const [key] = keys.map(({ key }) => key.replace('<prefix>', 'bull').replace('<queue>', queue));
  try {
    return await redis.callBuffer('EVALSHA', sha, 1, key, ...words);
  } catch (error) {
    if (!error.message.startsWith('NOSCRIPT')) throw error;
    const loaded = await redis.script('LOAD', fs.readFileSync(path.join(folder, file), 'utf8'));
    if (loaded !== sha) throw new Error(`${file} has the SHA-1 ${loaded}, not ${sha}`);
    return await redis.callBuffer('EVALSHA', sha, 1, key, ...words);
  }
}

async function main() {
  const [id] = await call('add/add_jobs', 1, 'welcome', '{}', Date.now(), 0, 0, 0, 0, JSON.stringify({ user: 7 }));
  const fetched = await call('fetch/move_to_active', Date.now(), 'mine', 30000, '', '', 'node', 1, 1, '', 0);
  const [taken, [name, data]] = unpack(fetched[3]);
  const result = JSON.stringify({ name, hello: JSON.parse(data).user });
  const [refused] = await call('finish/move_to_finished', Date.now(), 0, 0, 'mine', 30000, '', '', 'node', 0, '', 0, '',
    1, 'completed', 'mine', -1, '', '', '', '', taken, result);
  console.log(JSON.stringify({ id, taken, refused: refused.length }));
  redis.disconnect();
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
