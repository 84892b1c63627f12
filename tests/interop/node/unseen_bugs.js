// Bugs that nobody looked at while the grouping was written.
'use strict';

const { execFileSync } = require('child_process');
const { randomUUID } = require('crypto');
const fs = require('fs');

const WHO = ['Ada', 'grandmother', 'nobody', 'Wei', 'the-whole-team', 'Zoë', 'customer#7'];
const DID = ['returned', 'hates', 'never ordered', 'praised', 'lost', 'is still waiting for'];
const WHAT = ['blue shoes', 'kettle', '3 x "Gift Card"', '<b>sofa</b>', 'everything', 'that lamp (2nd try)'];
const WHEN = ['yesterday!', 'since 2019', '', 'on Monday :(', 'twice', 'before breakfast, really', 'today'];

const words = (n) => `${WHO[n % 7]} ${DID[n % 6]} ${WHAT[(n + Math.floor(n / 6)) % 6]} ${WHEN[n % 7]}`.trim();

class UpstreamError extends Error {
  constructor(status, url, options) {
    super(`${status} from ${url} (request ${randomUUID()}, ${new Date().toISOString()})`, options);
    this.name = 'UpstreamError';
    this.status = status;
  }
}

class Comments {
  check(text) {
    if (text.length > 3) throw new Error(text);
    return text;
  }
}

class Reviews {
  stars = 5;
  check(text) {
    if (this.stars > 3) throw new Error(text);
    return text;
  }
}

class Member {
  #rates = { gold: 0.2, silver: 0.1 };
  constructor(email, level) {
    this.email = email;
    this.level = level;
  }
  get discount() {
    return this.#rate(this.level) * 100;
  }
  #rate(level) {
    if (!(level in this.#rates)) {
      throw new RangeError(`level "${level}" of ${this.email} is none of ${Object.keys(this.#rates)}`);
    }
    return this.#rates[level];
  }
}

async function loadWidget(id) {
  await null;
  if (id % 2) throw new UpstreamError(500 + (id % 4), `https://widgets-${id}.example.net/v2/items/${id}?full=1`);
  return { id };
}

async function loadInvoices(account) {
  try {
    await Promise.reject(new Error(`socket hang up after ${account} ms`));
  } catch (cause) {
    throw new UpstreamError(500 + (account % 4), `https://invoices-${account}.example.net/v2/items/${account}?full=1`, {
      cause,
    });
  }
}

async function* pages(count) {
  for (let page = 0; page <= count; page++) {
    await null;
    const cursor = Buffer.from(`page:${page}`).toString('hex');
    if (page === count) throw new RangeError(`cursor ${cursor} expired on page ${page}`);
    yield [{ page }];
  }
}

function retried(attempts, action) {
  let cause;
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      return action(attempt);
    } catch (error) {
      cause = error;
    }
  }
  throw new Error(`gave up after ${attempts} attempts: ${cause.message}`, { cause });
}

function ownerOf(folder, path) {
  for (const [name, inner] of Object.entries(folder)) return ownerOf(inner, `${path}/${name}`);
  throw new Error(`nobody owns ${path}`);
}

const BUGS = {
  convertPrices(n) {
    const prices = [{ amount: n, currency: 'EUR' }, { amount: n * 1.5, currency: `U$${n}` }];
    return prices.map(({ amount, currency }) => {
      return new Intl.NumberFormat('en', { style: 'currency', currency }).format(amount);
    });
  },
  showInTimeZone: (n) => new Intl.DateTimeFormat('en', { timeZone: `Mars/Crater_${n}` }).format(new Date(0)),
  remindLater(n) {
    const user = { name: WHO[n % 7], timeZone: `Europe/Atlantis_${n}` };
    return `${user.name}: ${new Date(n * 86400000).toLocaleString('de', { timeZone: user.timeZone })}`;
  },
  cloneSession(n) {
    const session = { id: randomUUID(), started: new Date(), owner: Symbol(`user ${n} <user.${n}@example.org>`) };
    return structuredClone(session);
  },
  readHeader(n) {
    const packet = Buffer.alloc(8 + n);
    return { version: packet.readUInt8(0), size: packet.readUInt32LE(6 + n * 2) };
  },
  firstMirror(n) {
    const mirrors = Array.from({ length: (n % 4) + 2 }, (_, i) => `mirror${i + n}.example.org`);
    const tried = mirrors.map((host) => Promise.reject(new Error(`${host}: certificate of ${host} expired`)));
    return Promise.any(tried).catch(({ errors }) => {
      throw new AggregateError(errors, `none of [${mirrors.join(', ')}] answered`);
    });
  },
  abortedUpload(n) {
    const controller = new AbortController();
    const parts = Array.from({ length: n + 2 }, (_, part) => () => {
      if (part === n) controller.abort(new DOMException(`upload ${randomUUID()} stopped at part ${n}`, 'AbortError'));
      controller.signal.throwIfAborted();
    });
    return parts.forEach((send) => send());
  },
  sortRanking(n) {
    const players = [{ id: n, scores: { cup: {} } }, { id: n + 1, scores: {} }, { id: n + 2, scores: { cup: {} } }];
    return players.sort((a, b) => a.scores.cup[`round${n}`] - b.scores.cup[`round${n}`]);
  },
  dashboard: (n) => Promise.all([loadWidget(2 * n), loadWidget(2 * n + 1), loadWidget(2 * n + 2)]),
  billingSummary(n) {
    return loadInvoices(n).then((invoices) => invoices.length);
  },
  exportRows(n) {
    return (async () => {
      const rows = [];
      for await (const page of pages(n)) rows.push(...page);
      return rows;
    })();
  },
  pollJob(n) {
    return new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`job ${randomUUID()} was not finished within ${100 + n} ms`)), 0);
    });
  },
  waitForLock(n) {
    return new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`lock ${randomUUID()} was not released within ${100 + n} ms`)), 0);
    });
  },
  memberDiscount: (n) => new Member(`member+${n}@example.org`, `${WHAT[n % 6]} ${n}`).discount,
  lockedSettings(n) {
    const settings = new Proxy({ theme: 'dark' }, { set: (target, key) => key in target });
    settings.theme = 'light';
    settings[`${['font', 'zoom', 'locale', 'margin', 'beta'][n % 5]}_${n}`] = n;
    return settings;
  },
  moderateComment: (n) => new Comments().check(words(n)),
  moderateReview: (n) => new Reviews().check(words(n)),
  runConverter(n) {
    const script = 'echo "convert: cannot read $2 (code $1)" >&2; exit "$1"';
    const image = `/var/uploads/${randomUUID()}/photo ${n}.jpeg`;
    return execFileSync('sh', ['-c', script, 'convert', String((n % 5) + 1), image], { stdio: 'pipe' });
  },
  folderOwner(n) {
    let tree = {};
    for (let depth = 0; depth <= n; depth++) tree = { [`level${depth}`]: tree };
    return ownerOf(tree, `/srv/share-${n}`);
  },
  listSpool: (n) => retried((n % 3) + 2, (attempt) => fs.readdirSync(`/dev/null/spool-${n}/${attempt}`)),
};

module.exports = { BUGS };
