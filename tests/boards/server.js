'use strict';
// bull-board over queues given by name, as an operator sets it up. Prints its port and ends when its input ends.
// usage: node server.js <redis url> <queue>...

const { createBullBoard } = require('@bull-board/api');
const { BullMQAdapter } = require('@bull-board/api/bullMQAdapter');
const { ExpressAdapter } = require('@bull-board/express');
const { Queue } = require('bullmq');
const express = require('express');

const [redisUrl, ...names] = process.argv.slice(2);
const { hostname, port } = new URL(redisUrl);
const connection = { host: hostname, port: Number(port) };

const serverAdapter = new ExpressAdapter();
serverAdapter.setBasePath('/');
createBullBoard({
  queues: names.map(name => new BullMQAdapter(new Queue(name, { connection }))),
  serverAdapter,
});

const app = express();
app.use('/', serverAdapter.getRouter());
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit(0));
