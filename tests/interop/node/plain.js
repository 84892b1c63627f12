'use strict';

const JOB_FIELDS = [
  'id', 'name', 'data', 'opts', 'progress', 'returnvalue', 'stacktrace', 'delay', 'priority', 'timestamp',
  'attemptsMade', 'attemptsStarted', 'stalledCounter', 'failedReason', 'deferredFailure', 'processedOn',
  'finishedOn', 'processedBy', 'parentKey', 'parent', 'deduplicationId', 'repeatJobKey',
];

/** Turns BullMQ's objects into JSON values: a job becomes its public fields, a flow a tree of jobs. */
function plain(value) {
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  if (value && typeof value.moveToCompleted === 'function') {
    return Object.fromEntries(JOB_FIELDS.filter(name => value[name] !== undefined).map(name => [name, value[name]]));
  }
  if (value && value.job) {
    return { job: plain(value.job), children: plain(value.children ?? []) };
  }
  return value;
}

module.exports = { plain };
