'use strict';
// A wall clock that a test can stop. BullMQ passes the caller's clock into every script, so a stopped clock makes
// two runs of one sequence comparable to the millisecond. Load this file before bullmq.

const RealDate = globalThis.Date;
let stoppedAt = null;

class SettableDate extends RealDate {
  constructor(...args) {
    if (args.length === 0 && stoppedAt !== null) {
      super(stoppedAt);
    } else {
      super(...args);
    }
  }

  static now() {
    return stoppedAt === null ? RealDate.now() : stoppedAt;
  }
}

globalThis.Date = SettableDate;

/** Stops the clock at `ms`, or lets it run again with null. */
function setClock(ms) {
  stoppedAt = ms;
}

module.exports = { setClock };
