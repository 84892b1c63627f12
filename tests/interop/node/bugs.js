'use strict';
// Bugs as users write them: each fails in the same way for every value.

class PaymentDeclined extends Error {
  constructor(card, reason) {
    super(`card ${card} declined: ${reason}`);
    this.name = 'PaymentDeclined';
  }
}

class Cart {
  constructor(lines) {
    this.lines = lines;
  }
  total() {
    return this.lines.reduce((sum, line) => sum + line.price.amount, 0);
  }
  async pay(n) {
    await null;
    throw new PaymentDeclined(`${4000 + n}-1111`, ['no money', 'expired', 'stolen', 'limit', 'unknown'][n % 5]);
  }
}

const BUGS = {
  propertyOfUndefined: (n) => ({ [`row${n + 1}`]: {} })[`row${n}`].email,
  propertyOfNull(n) {
    const user = n > -1 ? null : {};
    return user.name;
  },
  notAFunction(n) {
    const client = { send: n };
    return client.send('x');
  },
  notJson: (n) => JSON.parse('{'.repeat(n + 1) + 'oops'),
  notIterable(n) {
    const [first] = { n };
    return first;
  },
  missingFile: (n) => require('fs').readFileSync(`/tmp/no-such-directory-${n}/orders-${require('crypto').randomUUID()}.csv`),
  missingModule: (n) => require(`no-such-module-${n}`),
  badUrl: (n) => new URL(`not a url ${n}`),
  badLength: (n) => new Array(-1 - n),
  badRegExp: (n) => new RegExp('('.repeat(n + 1)),
  bigint: (n) => 1n + n,
  badDate: (n) => new Date(`2026-13-${n}`).toISOString(),
  tooDeep(n) {
    const down = (m) => down(m + 1);
    return down(n);
  },
  constant(n) {
    const limit = 1;
    limit = n;
    return limit;
  },
  undeclared: (n) => n + notDeclaredAnywhere,
  cart: (n) => new Cart([{ price: { amount: 1 } }, { sku: `sku-${n}` }]).total(),
  declined: (n) => new Cart([]).pay(n),
  freeText(n) {
    throw new Error(`order ${n} of ${1000 * n} EUR cannot be shipped to "${['Paris', 'Rome', 'Oslo', 'Bern', 'Lima'][n % 5]}"`);
  },
  freeTextElsewhere(n) {
    throw new Error(`order ${n} of ${1000 * n} EUR cannot be shipped to "Paris"`);
  },
  assertion: (n) => require('assert').strictEqual(n, n + 1),
};

module.exports = { BUGS };
