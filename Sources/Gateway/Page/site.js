// How the site is: each node, the links of this one, its tables.

import { call } from './calls.js';
import { counted, element, list, moment, replace, shape } from './elements.js';

const states = {
  'in-sync': ['in sync', 'good', '●'], 'catching-up': ['catching up', 'waiting', '◐'],
  connecting: ['connecting', 'waiting', '○'], failing: ['failing', 'bad', '✕'],
  away: ['away', 'off', '○'], revoked: ['revoked', 'bad', '✕'],
};
const state = (word) => states[word] ?? [word, 'off', '○'];

const badge = (word) => {
  const [text, look, mark] = state(word);
  return element(`span.badge.${look}`, {}, element('span', { 'aria-hidden': 'true' }, mark + ' '),
    text);
};

function time(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}

const isReached = (peer) => ['in-sync', 'catching-up'].includes(peer.state);

function behind(peer) {
  if (!isReached(peer) && peer.last_seen) {
    const since = new Date(peer.last_seen);
    const isToday = since.toDateString() === new Date().toDateString();
    const text = since.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    return `${peer.behind_rows ? counted(peer.behind_rows, 'row') + ', ' : ''}since `
      + (isToday ? text : `${since.toLocaleDateString()} ${text}`);
  }
  if (!peer.behind_rows) return '0 rows';
  const age = peer.behind_seconds >= 1 ? `, ${time(peer.behind_seconds)}` : '';
  const left = peer.seconds_left ? `; about ${time(peer.seconds_left)} left` : '';
  return counted(peer.behind_rows, 'row') + age + left;
}

function clock(peer) {
  const seconds = peer.clock_offset_ms / 1000;
  const sign = seconds < 0 ? '−' : '+';
  const size = Math.abs(seconds);
  const text = size < 90 ? `${sign}${size.toFixed(2)} s` : `${sign}${time(size)}`;
  return size < 2 ? text : `${text} ${peer.clock_corrected ? '(corrected)' : '(not corrected yet)'}`;
}

/** This node in the middle, its links around it: for the eye; the table below says the same. */
function picture(status, isNarrow) {
  const peers = status.peers.filter((one) => one.state !== 'revoked').slice(0, 32);
  const width = isNarrow ? 380 : 720;
  const height = isNarrow || peers.length > 10 ? 460 : 330;
  const middle = [width / 2, height / 2];
  const places = peers.map((_, index) => {
    const angle = (index / peers.length) * 2 * Math.PI - Math.PI / 2
      + (peers.length === 2 ? Math.PI / 2 : 0);
    const reach = peers.length > 16 && index % 2 ? 0.62 : 1;
    return [middle[0] + Math.cos(angle) * (width / 2 - (isNarrow ? 70 : 100)) * reach,
      middle[1] + Math.sin(angle) * (height / 2 - 52) * reach];
  });
  const ship = ([x, y], name, look, words) => shape('g', { class: `ship ${look}` },
    shape('circle', { cx: x, cy: y, r: look === 'here' ? 17 : 12 }),
    shape('text', { x, y: y + (look === 'here' ? 36 : 30), 'text-anchor': 'middle' },
      name.length > 18 ? name.slice(0, 17) + '…' : name),
    words ? shape('text', { x, y: y - 20, 'text-anchor': 'middle', class: 'small' }, words) : null);
  const said = peers.map((one) => `${one.node}: ${state(one.state)[0]}`).join(', ');
  return shape('svg', {
    viewBox: `0 0 ${width} ${height}`, class: 'picture', role: 'img',
    'aria-label': `The links of ${status.node}. ${said}`,
  },
  peers.map((peer, index) => shape('line', {
    x1: middle[0], y1: middle[1], x2: places[index][0], y2: places[index][1],
    class: `link ${state(peer.state)[1]}`,
  })),
  ship(middle, status.node, 'here', null),
  peers.map((peer, index) => ship(places[index], peer.node, state(peer.state)[1],
    state(peer.state)[0] + (peer.node === status.anchor ? ' · anchor' : ''))));
}

let asked = null;

/** Edits a second that this node has taken in since it was last asked; null at first. */
function pace(status) {
  const now = { edits: status.edits, at: performance.now() };
  const before = asked;
  if (!before || now.at - before.at > 500) asked = now;
  const isNew = !before || now.edits == null || now.edits < before.edits;
  if (isNew || now.at - before.at > 10_000) return null;
  return (now.edits - before.edits) * 1000 / Math.max(1, now.at - before.at);
}

function summary(status) {
  const perSecond = pace(status);
  const peers = status.peers.filter((one) => one.state !== 'revoked');
  const reached = peers.filter((one) => one.state === 'in-sync').length;
  const rows = status.tables.reduce((sum, one) => sum + one.rows, 0);
  const fact = (name, value, look = '') => element(`div.fact${look}`, {},
    element('dt', {}, name), element('dd', {}, value));
  return element('dl.facts', {},
    fact('State', status.in_sync ? 'in sync' : 'not in sync', status.in_sync ? '.good' : '.waiting'),
    fact('Nodes in sync', peers.length ? `${reached} of ${peers.length}` : 'this one alone'),
    fact('Rows', `${rows.toLocaleString('en')} in ${counted(status.tables.length, 'table')}`),
    fact('Rows a second', perSecond === null ? '–'
      : perSecond.toLocaleString('en', { maximumFractionDigits: perSecond < 10 ? 1 : 0 })),
    fact('Anchor', status.anchor ? status.anchor === status.node ? 'this node' : status.anchor
      : 'none'),
    fact('Conflicts', element('a', { href: '#/conflicts', 'data-at': 'c' },
      String(status.conflicts))),
    fact('Parked rows', element('a', { href: '#/parked', 'data-at': 'p' }, String(status.parked))),
    status.anchor ? fact('Not judged yet', String(status.unjudged)) : null);
}

function remarks(status) {
  const lines = [...status.not_in_sync.map((one) => `Not in sync: ${one}.`), ...status.remarks]
    .filter((line) => !status.standing || !line.includes(status.standing.text));
  if (status.trouble) {
    lines.unshift(status.trouble.text + (status.trouble.remedy ? ` ${status.trouble.remedy}` : ''));
  }
  if (status.standing) lines.unshift(`${status.standing.text}. ${status.standing.remedy}`);
  if (status.first_copy) {
    const { from, rows, of } = status.first_copy;
    lines.unshift(`The first copy, from ${from}, is not complete: ${rows} rows of about ${of}.`);
  }
  if (!status.running) lines.unshift('No node runs; what is shown was known when it stopped.');
  return lines.length ? element('ul.remarks', {}, lines.map((one) => element('li', {}, one))) : null;
}

export function overview(main, context) {
  return {
    // Ages are told anew each time.
    ticks: true,
    load: (signal) => call('GET', context.path('status'), { signal }),
    draw({ data: status }) {
      const now = status.clock?.site_time;
      const nodes = status.peers.map((peer) => [
        element('span.name', {}, peer.node,
          peer.node === status.anchor ? element('span.quiet', {}, ' (anchor)') : null),
        badge(peer.state), behind(peer),
        isReached(peer) ? 'now' : moment(peer.last_seen, now),
        isReached(peer) ? clock(peer) : '',
        [peer.error, peer.remedy].filter(Boolean).join('. '),
      ]);
      const [heads, rows] = status.peers.some((one) => one.error)
        ? [['Node', 'State', 'Behind', 'Last seen', 'Clock', 'Why'], nodes]
        : [['Node', 'State', 'Behind', 'Last seen', 'Clock'], nodes.map((one) => one.slice(0, 5))];
      replace(main,
        element('h1', {}, status.site), remarks(status), summary(status),
        element('div.halves', {},
          element('section', {}, element('h2', {}, 'Other nodes'),
            nodes.length ? list(heads, rows, 'Nodes') : element('p', {},
              'There is no other node yet. ', element('a', { href: '#/members' }, 'Invite one.'))),
          status.peers.some((one) => one.state !== 'revoked') ? element('section', {},
            element('h2', {}, 'Links of this node'),
            picture(status, main.clientWidth < 600)) : null),
        element('h2', {}, 'Tables'),
        list(['Table', 'Rows', 'Rule'], status.tables.map((table) => [
          element('a', { href: `#/tables/${encodeURIComponent(table.name)}`,
            'data-at': 't' + table.name }, table.name),
          table.rows.toLocaleString('en'),
          table.rule === table.acting_rule ? table.rule
            : `${table.rule}, acts as ${table.acting_rule} while there is no anchor`,
        ]), 'Tables', 'table.lines'));
    },
  };
}
