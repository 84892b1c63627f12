'use strict';
// Runs real BullMQ for the Python tests: one JSON command per input line, one JSON reply per output line. `now` stops
// the clock for this command and those after it.
// usage: node driver.js <bullmq5|bullmq6> <redis url>

const { setClock } = require('./clock');
const readline = require('node:readline');
const { Session } = require('./session');
const { commands } = require('./commands');
const { plain } = require('./plain');

const [library, url] = process.argv.slice(2);
const session = new Session(library, url);

function reply(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

readline.createInterface({ input: process.stdin }).on('line', async line => {
  const { id, op, now, ...args } = JSON.parse(line);
  try {
    if (now !== undefined) {
      setClock(now);
    }
    reply({ id, value: plain(await commands[op](session, args)) ?? null });
  } catch (error) {
    reply({ id, error: { name: error.name, message: error.message, code: error.code, stack: error.stack } });
  }
}).on('close', () => process.exit(0));

reply({ ready: true });
