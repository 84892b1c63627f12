'use strict';
// A headless Chromium controlled by JSON lines: each input line is [method, ...args], each output line its result.
// usage: node browser.js <executable> <profile folder>

const readline = require('node:readline');
const axe = require('axe-core');
const { chromium } = require('playwright-core');

const [executablePath, profile] = process.argv.slice(2);
const args = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const PATIENCE_MS = 10_000;

function commandsOf(page, complaints, requests) {
  return {
    open: url => page.goto(url),
    reload: () => page.reload(),
    text: () => page.locator('body').innerText(),
    html: () => page.content(),
    /** Waits until the page shows a text. */
    see: text => page.getByText(text).filter({ visible: true }).first().waitFor(),
    /** Waits until the page shows an element. */
    find: selector => page.locator(selector).filter({ visible: true }).first().waitFor(),
    click: selector => page.locator(selector).filter({ visible: true }).first().click(),
    count: selector => page.locator(selector).filter({ visible: true }).count(),
    screenshot: path => page.screenshot({ path, fullPage: true }),
    /** Takes a picture of what is seen without scrolling. */
    picture: path => page.screenshot({ path }),
    press: key => page.keyboard.press(key),
    type: text => page.keyboard.type(text),
    /** Waits until the path of the page, with its query, is this one. */
    at: path => page.waitForURL(url => url.pathname + url.search === path),
    scheme: colorScheme => page.emulateMedia({ colorScheme }),
    /** Lets the page believe that its tab is hidden, or seen again. */
    hide: hidden =>
      page.evaluate(hidden => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden),
    /** Lets only `pass` move the clock of the next pages. */
    stopClock: async () => {
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + 1_000);
    },
    startClock: () => page.clock.resume(),
    /** Lets so many ms pass for timers of the page. */
    pass: ms => page.clock.runFor(ms),
    /** Returns how many requests the page has made since the last call. */
    requests: () => requests.splice(0).length,
    /** Returns whether an element has the focus. */
    focused: selector => page.evaluate(selector => document.activeElement.matches(selector), selector),
    /** Returns what keeps people from using the page, of what axe knows: its rules and where they are broken. */
    axe: async () => {
      await page.evaluate(axe.source);
      const found = await page.evaluate(() => axe.run());
      const bad = found.violations.filter(one => ['serious', 'critical'].includes(one.impact));
      return bad.map(one => `${one.id}: ${one.nodes.map(node => node.html).slice(0, 3).join(' ')}`).join('\n');
    },
    /** Returns what the browser has refused, and errors of scripts, since the last call. */
    complaints: () => complaints.splice(0).join('\n'),
  };
}

async function main() {
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args,
    chromiumSandbox: false,
    headless: true,
    viewport: { width: 1280, height: 800 },
  });
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  // A page that is left takes its open requests with it, and htmx says so. Requests that fail otherwise are told below.
  const isLeft = text => text.includes('Failed to fetch');
  page.on('console', message => message.type() === 'error' && !isLeft(message.text()) && complaints.push(message.text()));
  page.on('requestfailed', request => {
    const { errorText } = request.failure();
    if (errorText !== 'net::ERR_ABORTED') complaints.push(`${errorText}: ${request.url()}`);
  });
  page.on('pageerror', error => complaints.push(String(error)));
  const requests = [];
  page.on('request', request => requests.push(request.url()));
  page.on('dialog', dialog => {
    complaints.push(`dialog: ${dialog.message()}`);
    return dialog.accept();
  });
  const commands = commandsOf(page, complaints, requests);
  const reply = message => process.stdout.write(`${JSON.stringify(message)}\n`);
  const lines = readline.createInterface({ input: process.stdin });
  reply({ value: 'ready' });
  for await (const line of lines) {
    const [method, ...given] = JSON.parse(line);
    try {
      const value = await commands[method](...given);
      reply({ value: ['string', 'number', 'boolean'].includes(typeof value) ? value : null });
    } catch (error) {
      reply({ error: error.message });
    }
  }
  await context.close();
  process.exit(0);
}

main().catch(error => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
