// The page of a node: signing in, the views, and asking again every two seconds while it is seen,
// or at once when a row has changed.

import { call } from './calls.js';
import { element, replace } from './elements.js';
import { follow } from './live.js';
import * as site from './site.js';
import { tables } from './tables.js';
import * as conflicts from './conflicts.js';

const pause = 2000;
const $ = (id) => document.getElementById(id);
const views = [
  { name: 'site', title: 'Site', open: site.overview, isOfSite: true },
  { name: 'tables', title: 'Tables', open: tables },
  { name: 'conflicts', title: 'Conflicts', open: conflicts.conflicts, isOfSite: true },
  { name: 'parked', title: 'Parked', open: conflicts.parked, isOfSite: true },
  { name: 'members', title: 'Members', file: './members.js', isOfSite: true },
  { name: 'clock', title: 'Clock', file: './clock.js', isOfSite: true },
  { name: 'doctor', title: 'Doctor', file: './doctor.js', isOfSite: true },
];

/** What the views share: who has signed in, and what was last heard of the site. */
const context = {
  account: null, status: null,
  /** The path of a resource of this database. */
  path: (rest) => `/v1/${encodeURIComponent(context.account.database)}/${rest}`,
  refresh: () => ask(),
};
let view = null;
let timer = null;
let asking = null;
/** Whether a row has changed since the node was asked. */
let isBehind = false;
let rounds = 0;
let heard = null;
let unfollow = null;

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  let parts = [];
  try {
    parts = path.split('/').map(decodeURIComponent);
  } catch {
    // A link that somebody has written wrong leads to the first view.
  }
  return { parts, query: new URLSearchParams(query ?? '') };
}

/** Views that are seldom looked at are fetched once somebody does. */
async function opened(chosen) {
  if (chosen.file) chosen.open ??= (await import(chosen.file)).open;
  return chosen.open;
}

// One view at a time; going elsewhere ends what the last one was asking.

async function show() {
  if (!context.account) return;
  const where = route();
  const known = views.filter((one) => context.account.sees_site || !one.isOfSite);
  const chosen = known.find((one) => one.name === where.parts[0]) ?? known[0];
  const isOther = view?.name !== chosen.name;
  asking?.abort();
  drawNavigation(chosen.name, known);
  // What was asked of the same view before stays until the answer is there.
  if (isOther) replace($('main'), element('p.quiet', {}, 'Asking the node…'));
  view = null;
  const open = await opened(chosen).catch((error) => tell(error));
  if (!open || route().parts[0] !== where.parts[0]) return;
  view = { name: chosen.name, last: null, ...open($('main'), context, where) };
  document.title = `${chosen.title} · ${context.account.database} · Flotilla`;
  if (isOther) scrollTo(0, 0);
  await ask();
}

function drawNavigation(current, known) {
  const { conflicts: open = 0, parked = 0 } = context.status ?? {};
  const counts = { conflicts: open, parked };
  replace($('nav'), known.map(({ name, title }) => element('a', {
    href: `#/${name}`, 'data-at': name, 'aria-current': name === current ? 'page' : undefined,
  }, title, counts[name] ? element('span.count', {}, String(counts[name])) : null)));
}

function drawHeader() {
  const status = context.status;
  $('header').hidden = false;
  $('site').textContent = status?.site ?? context.account.database;
  $('here').textContent = status ? `this node: ${status.node}` : context.account.file;
  $('state').className = 'state ' + (status ? (status.in_sync ? 'good' : 'waiting') : '');
  $('state').textContent = status ? (status.in_sync ? 'in sync' : 'not in sync') : '';
}

/** One request after the other, never two at a time. */
async function ask() {
  clearTimeout(timer);
  asking?.abort();
  if (document.hidden || !context.account || !view) return;
  const own = asking = new AbortController();
  isBehind = false;
  const of = view;
  let rest = of.pause ?? pause;
  try {
    const answer = await of.load(own.signal);
    if (own.signal.aborted) return;
    if (of.name === 'site') context.status = answer.data;
    const isNew = answer.text !== of.last || of.ticks;
    of.last = answer.text;
    if (isNew) of.draw(answer);
    // How the site is stands above each view; every third time is enough for that.
    if (of.name !== 'site' && context.account.sees_site && rounds++ % 3 === 0) {
      context.status = (await call('GET', context.path('status'), { signal: own.signal })).data;
    }
    if (sessionStorage.getItem('flotilla-late')) {
      await (await import('./late.js')).look(context, own.signal);
    }
    heard = new Date();
    $('trouble').hidden = true;
    document.body.classList.remove('stale');
    drawHeader();
    drawNavigation(of.name, views.filter((one) => context.account.sees_site || !one.isOfSite));
  } catch (error) {
    if (own.signal.aborted) return;
    if (error.status === 401) return signedOut('You were signed out: the token was removed, or its '
      + 'time is over, or the node was started again.');
    tell(error);
    rest = pause;
  }
  if (asking !== own) return;
  asking = null;
  timer = setTimeout(ask, isBehind ? 200 : rest);
}

/** Rows have changed; the view that shows them asks again. */
function changed(tables) {
  if (!view || view.table && tables && !tables.has(view.table())) return;
  // What is asked already is not asked anew: an answer might never come.
  if (asking) isBehind = true; else ask();
}

function signedIn(account) {
  context.account = account;
  unfollow?.();
  unfollow = follow(context.path('changes'), changed);
  return show();
}

function tell(error) {
  const since = heard ? ` What is shown is of ${heard.toLocaleTimeString()}.` : '';
  const text = error.status === 0
    ? `The node does not answer. This page asks again every 2 s.${since}`
    : error.status
      ? `The node answers: ${error.message}.${since}`
      : `This page has failed: ${error.message}`;
  // Said once, not every two seconds.
  if ($('trouble').hidden || $('trouble').textContent !== text) $('trouble').textContent = text;
  $('trouble').hidden = false;
  if (error.status === 0) {
    document.body.classList.add('stale');
    $('state').className = 'state bad';
    $('state').textContent = 'no answer';
  }
}

// Signing in and out.

function signedOut(remark) {
  clearTimeout(timer);
  asking?.abort();
  unfollow?.();
  [context.account, context.status, view, heard, unfollow] = [null, null, null, null, null];
  $('header').hidden = true;
  $('trouble').hidden = true;
  if (sessionStorage.getItem('flotilla-late')) import('./late.js').then((late) => late.clear());
  document.body.classList.remove('stale');
  $('dialog').close();
  document.title = 'Sign in · Flotilla';
  const field = element('input', {
    id: 'token', type: 'password', autocomplete: 'off', required: true, spellcheck: 'false',
    'aria-describedby': 'said',
  });
  const said = element('p.said', { id: 'said', role: 'status' }, remark ?? '');
  const button = element('button', { type: 'submit' }, 'Sign in');
  replace($('main'), element('form.sign-in', {
    onsubmit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      said.textContent = 'Asking the node…';
      try {
        const body = JSON.stringify({ token: field.value.trim() });
        await signedIn((await call('POST', '/v1/session', { body })).data);
      } catch (error) {
        said.textContent = error.status === 401
          ? 'No database of this node knows that token. It may have been mistyped, removed, or its '
            + 'time is over.'
          : `That did not work: ${error.message}.`;
        button.disabled = false;
        field.focus();
      }
    },
  },
  element('h1', {}, 'Flotilla'),
  element('p', {}, 'This is a node of your site. To see its state and rows, show it a token.'),
  element('label', { for: 'token' }, 'Token'), field, button, said,
  element('p.quiet', {}, 'Make one on this machine, in a shell: ',
    element('code.command', {}, 'flotilla token DB add NAME'))));
  field.focus();
}

$('sign-out').addEventListener('click', async () => {
  try {
    await call('DELETE', '/v1/session');
    signedOut('You are signed out.');
  } catch (error) { tell(error); }
});

document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  $('main').focus();
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) { clearTimeout(timer); asking?.abort(); } else ask();
});
addEventListener('hashchange', show);

async function start() {
  try {
    const { data } = await call('GET', '/v1/session');
    if (!data.database) return signedOut();
    await signedIn(data);
  } catch (error) {
    tell(error);
    setTimeout(start, pause);
  }
}
start();
