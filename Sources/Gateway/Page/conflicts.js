// Edits that lost, and rows that wait.

import { call } from './calls.js';
import { command, element, list, moment, replace, shellWord } from './elements.js';
import { parts, same, shown } from './values.js';

const clauses = {
  older: 'what stands was written later', offline: 'it was made out of touch with the anchor',
  unseen: 'it and what stands were written without knowing of each other',
  'already-deleted': 'the row had been deleted, and its author had not seen that',
  'key-collision': 'another row had the key already',
  'not-allowed': 'its author may not write that',
  parked: 'it breaks a constraint beside what stands',
};
const waits = {
  constraint: 'a constraint keeps it out', reference: 'a row that it refers to is not here',
  parent: 'a row that it refers to is parked', table: 'its table is not here',
  'too-large': 'it is too large to travel',
};

/** Why an edit lost, in words. */
export function reason(word, undated) {
  return word === 'older' && undated
    ? 'nobody can tell when it was written, and of what stands one can' : clauses[word] ?? word;
}

const why = (one) => reason(one.reason, one.loser?.undated)
  + (one.because ? ` (${one.because})` : '');
const keyWords = (one) => (one.key_columns ?? Object.keys(one.key))
  .map((name) => `${name} = ${parts(one.key[name]).text}`).join(', ');
/** What it is about: a row of a table, or the rule of one. */
const subject = (one) => one.table === '_flotilla_table'
  ? `rule of ${Object.values(one.key).map((value) => parts(value).text).join(', ')}` : one.table;
const author = (side) => side?.node ?? 'unknown';

const said = element('p.said', { role: 'status' });
let doubt = null;

/** Restores or dismisses, after a question for what cannot be taken back. */
function settle(context, conflict, what) {
  const act = async () => {
    doubt = null;
    said.textContent = 'Asking the node…';
    try {
      const { data } = await call('POST', context.path(`conflicts/${conflict.id}/${what}`));
      said.textContent = what === 'dismiss' ? 'It is off the list.'
        : 'The edit that lost was written again.'
          + (data.awaits_verdict ? ' The anchor has yet to judge it.' : '')
          + (data.was_gone ? ' The row had been deleted since.' : '')
          + (data.replaced ? ' What it replaced was not what stood when the conflict was noted: '
            + Object.entries(data.replaced).map(([n, v]) => `${n} = ${parts(v).text}`).join(', ')
            : '');
    } catch (error) {
      said.textContent = `That did not work: ${error.message}. ${error.problem?.remedy ?? ''}`;
    }
    context.refresh();
  };
  return act;
}

/** One of two sides beside each other; what stands in the table now has no author here. */
function column(side, other, names, heading) {
  const content = !side ? element('p.quiet', {}, 'not known here')
    : side.deleted ? element('p', {}, side.isTable ? 'there is no row' : 'deleted the row')
      : !side.row ? element('p.quiet', {}, 'what it said is not known here') : null;
  return element('section.side', {}, element('h2', {}, heading),
    side?.isTable ? null : element('p', {}, `written by ${author(side)}`,
      side?.stamp ? element('span.quiet', {}, side.undated ? ', at the earliest ' : ', ',
        new Date(side.stamp).toLocaleString()) : null),
    content ?? element('dl.row', {}, names.map((name) => {
      const differs = other?.row && !same(side.row[name], other.row[name]);
      return element(`div${differs ? '.differs' : ''}`, {},
        element('dt', {}, name), element('dd', {}, shown(side.row[name], 2000),
          differs ? element('span.mark', {}, 'differs') : null));
    })));
}

function detail(main, context, conflict, redraw) {
  const now = conflict.stands
    && { isTable: true, row: conflict.stands.row, deleted: !conflict.stands.row };
  const other = now ?? conflict.winner;
  const names = [...new Set([...(conflict.key_columns ?? []),
    ...Object.keys(other?.row ?? {}), ...Object.keys(conflict.loser?.row ?? {})])];
  const file = shellWord(context.account.file);
  const isOpen = conflict.state === 'open';
  const act = (what) => settle(context, conflict, what);
  const ask = (what) => { doubt = what; redraw(); };
  const buttons = !isOpen ? element('p', {}, `It was ${conflict.state}.`)
    : !context.account.settles ? element('p', {}, 'Your token may not settle this. Type: ',
      command(`flotilla conflicts ${file} restore ${conflict.id}`), ' or ',
      command(`flotilla conflicts ${file} dismiss ${conflict.id}`))
      : doubt === 'restore' ? element('p.question', {}, 'Write the edit that lost again, on every '
        + 'machine, in place of what stands now? ',
      element('button', { type: 'button', 'data-at': 'restore', onclick: act('restore') }, 'Restore'),
      element('button.plain', { type: 'button', onclick: () => ask(null) }, 'Leave it'))
        : element('p.buttons', {},
          element('button', { type: 'button', 'data-at': 'restore', onclick: () => ask('restore') },
            'Restore what lost…'),
          element('button.plain', { type: 'button', 'data-at': 'dismiss', onclick: act('dismiss') },
            'Dismiss: what stands is right'));
  replace(main,
    element('p', {}, element('a', { href: '#/conflicts', 'data-at': 'back' }, '← All conflicts')),
    element('h1', {}, `Conflict ${conflict.id}: ${subject(conflict)}`),
    element('p', {}, element('strong', {}, keyWords(conflict)), ` · it lost because ${why(conflict)}`,
      conflict.rule ? ` · rule ${conflict.rule}` : ''),
    buttons, said,
    element('div.sides', {}, column(conflict.loser, other, names, 'Lost'),
      column(other, conflict.loser, names, other?.isTable ? 'Stands now' : 'Stood then')));
}

export function conflicts(main, context, where) {
  const id = where.parts[1];
  let last;
  said.textContent = '';
  doubt = null;
  const draw = ({ data }) => {
    last = data;
    const one = data.conflicts.find((each) => String(each.id) === id);
    if (one) return detail(main, context, one, () => draw({ data: last }));
    const rows = data.conflicts.filter((each) => String(each.state) === 'open').map((each) => [
      element('a', { href: `#/conflicts/${each.id}`, 'data-at': 'i' + each.id }, `${each.id}`),
      subject(each), keyWords(each), author(each.loser), author(each.winner), why(each),
      moment(each.at, data.now),
    ]);
    replace(main, element('h1', {}, 'Conflicts'),
      id ? element('p', {}, `Conflict ${id} is not kept here any more.`) : null,
      element('p.quiet', {}, 'Edits that lost: another node had changed the row meanwhile, or the anchor '
        + 'did not accept them. They are kept on the node where they were made, and on the anchor.'),
      rows.length ? list(['No.', 'Table', 'Row', 'Lost', 'Won', 'Lost because', 'Noticed'], rows,
        'Conflicts') : element('p.empty', {}, 'No conflicts.'));
  };
  // A single one is shown also once it is settled.
  return {
    draw,
    load: (signal) => call('GET', context.path(id ? 'conflicts?all' : 'conflicts'),
      { signal, rows: true }),
  };
}

export function parked(main, context) {
  const file = shellWord(context.account.file);
  return {
    load: (signal) => call('GET', context.path('conflicts'), { signal, rows: true }),
    draw({ data }) {
      replace(main, element('h1', {}, 'Parked rows'),
        element('p.quiet', {}, 'A parked row is held, but does not stand in its table: a constraint '
          + 'keeps it out, or the table or a row that it refers to is not here. It goes in by itself '
          + 'once nothing is in its way.'),
        data.parked.length ? [
          list(['Name', 'Table', 'Row', 'Why', 'Values'], data.parked.map((one) => [
            element('code', {}, one.id), one.table, keyWords(one),
            (waits[one.why] ?? one.why) + (one.because ? ` (${one.because})` : ''),
            element('dl.values', {}, Object.entries(one.row).map(([name, value]) =>
              element('div', {}, element('dt', {}, name), element('dd', {}, shown(value))))),
          ]), 'Parked rows'),
          element('h2', {}, 'To settle one by hand, type on this machine'),
          element('dl.commands', {},
            element('dt', {}, 'put it into its table with another value'),
            element('dd', {},
              command(`flotilla conflicts ${file} restore NAME --set COLUMN=VALUE`)),
            element('dt', {}, 'delete it, on every machine'),
            element('dd', {}, command(`flotilla conflicts ${file} dismiss NAME`))),
        ] : element('p.empty', {}, 'No parked rows.'));
    },
  };
}
