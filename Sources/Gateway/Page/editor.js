// One row in a dialog: its values, what the anchor says of a change, deleting it, adding one.

import { call, encoded } from './calls.js';
import { element, replace } from './elements.js';
import { kindOf, kinds, parts, shown, written } from './values.js';
import { reason } from './conflicts.js';

const dialog = document.getElementById('dialog');
// So long the anchor is waited for.
const patience = 10;
let opened = 0;
let opener = null;
// The grid may have been drawn anew meanwhile: the focus goes back to the same place in it.
dialog.addEventListener('close', () =>
  document.querySelector(`[data-at="${CSS.escape(opener ?? '')}"]`)?.focus());

const verdicts = {
  none: 'Saved. It goes to the other nodes by itself.',
  accepted: 'Saved, and the anchor has accepted it.',
  superseded: 'Saved; the anchor says that a later edit of this row stands.',
  pending: 'Saved here. The anchor has not judged it yet: it does so once it is reached. If it rejects '
    + 'it, this page says so.',
  unknown: 'Saved here. What the anchor says of it is not known.',
};

/** Opens a row by its path; with null, a form for a new one. */
export async function edit(context, table, path, column) {
  const own = ++opened;
  const resource = context.path(`rows/${encoded(table.name)}`);
  const said = element('p.said', { role: 'status' });
  const host = element('div');
  const title = element('h2', { id: 'dialog-title' },
    path === null ? `A new row of ${table.name}` : `A row of ${table.name}`);
  replace(dialog, element('header', {}, title, element('button.plain', {
    type: 'button', onclick: () => dialog.close(),
  }, 'Close')), said, host);
  if (!dialog.open) {
    opener = path === null ? 'add' : 'r' + path;
    dialog.showModal();
  }
  const state = { context, table, path, resource, said, host, row: {}, tag: null, key: null, column };
  state.isCurrent = () => own === opened && dialog.open;
  if (path === null) return draw(state);
  said.textContent = 'Asking the node…';
  if (await read(state)) said.textContent = '';
}

/** Reads the row as it stands; false if there is none. */
async function read(state) {
  try {
    const { data, headers } = await call('GET', `${state.resource}/${state.path}`,
      { rows: true, headers: { Prefer: 'last-edit' } });
    if (!state.isCurrent()) return false;
    [state.row, state.tag] = [data, headers.get('ETag')];
    state.edited = edited(headers.get('Flotilla-Edited-By'), headers.get('Flotilla-Edited-At'));
    draw(state);
    return true;
  } catch (error) {
    if (!state.isCurrent()) return false;
    if (error.status !== 404) return fail(state, error);
    state.said.append(' The row is not there any more.');
    replace(state.host);
    return false;
  }
}

/** Who has edited the row last, as far as it is known. */
function edited(by, at) {
  if (!by && !at) return null;
  const [who, when] = [by ? ` on ${decodeURIComponent(by)}` : '',
    at ? `, ${new Date(at).toLocaleString()}` : ''];
  return element('p.quiet', { id: 'edited' }, `Last edited${who}${when}.`);
}

function fail(state, error) {
  state.said.textContent = error.status === 0
    ? 'The node does not answer. Try again: the row is written once, however often you do.'
    : `That did not work: ${error.message}. ${error.problem?.remedy ?? ''}`;
  return false;
}

/** The fields of a column: what kind of value, and the value. */
function field(state, column, index) {
  const isNew = state.path === null;
  const value = state.row[column.name];
  const id = `field-${index}`;
  const isKey = state.table.key.includes(column.name);
  const mayWrite = state.table.right === 'write' && !column.computed && (isNew || !isKey);
  const label = element('label', { for: id }, column.name,
    isKey ? element('span.key', {}, ' key') : null,
    column.computed ? element('span.key', {}, ' computed') : null);
  if (!mayWrite) {
    return { node: element('div.edit', {}, label, element('output', { id }, shown(value, 5000))) };
  }
  const first = isNew ? 'default' : kindOf(value, column);
  const known = [...(isNew ? [['default', 'left out (default)']] : []), ...kinds(column),
    ...(first === 'base64_text' ? [['base64_text', 'text that is not UTF-8']] : [])];
  const kind = element('select', { 'aria-label': `Kind of ${column.name}` }, known.map(
    ([word, text]) => element('option', { value: word, selected: word === first }, text)));
  const before = parts(value).text;
  const input = element('textarea', {
    id, rows: Math.min(8, Math.max(1, before.split('\n').length, Math.ceil(before.length / 60))),
    spellcheck: 'false', autocomplete: 'off',
  });
  input.value = before;
  const isBare = () => ['null', 'default'].includes(kind.value);
  // Who types means a value.
  input.addEventListener('input', () => { if (isBare()) kind.value = kinds(column)[0][0]; });
  kind.addEventListener('change', () => { if (isBare()) input.value = ''; });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !input.value.includes('\n')) {
      event.preventDefault();
      input.form.requestSubmit();
    }
  });
  return {
    node: element('div.edit', {}, label, element('div.pair', {}, input, kind)), input,
    name: column.name,
    text: () => input.value,
    /** As if somebody had typed it. */
    type: (text) => { input.value = text; input.dispatchEvent(new Event('input')); },
    /** `"column": value` if it was changed, else null. */
    change: () => kind.value === 'default'
      || (!isNew && kind.value === first && (input.value === before || isBare())) ? null
      : `${JSON.stringify(column.name)}:${written(kind.value, input.value)}`,
  };
}

/** The fields that somebody has changed, and what he typed there. */
const typedIn = (state) => state.fields.map((one, index) => [index, one])
  .filter(([, one]) => one.change?.()).map(([index, one]) => [index, one.text()]);

/** Puts back what was typed, with what stands now beside it. */
function keep(state, typed) {
  for (const [index, text] of typed) {
    const one = state.fields[index];
    if (!one?.input || one.text() === text) continue;
    one.node.append(element('p.quiet', {}, 'Stands now: ', shown(state.row[one.name], 500)));
    one.type(text);
  }
}

function draw(state) {
  const { table, path } = state;
  const isNew = path === null;
  const fields = state.fields = table.columns.map((column, index) => field(state, column, index));
  const mayWrite = table.right === 'write';
  const form = element('form', {
    onsubmit: (event) => {
      event.preventDefault();
      const changes = fields.map((one) => one.change?.()).filter(Boolean);
      if (!changes.length && !isNew) state.said.textContent = 'Nothing was changed.';
      else write(state, isNew ? 'POST' : 'PATCH', `{${changes.join(',')}}`);
    },
  }, isNew ? null : state.edited, fields.map((one) => one.node), mayWrite ? element('p.buttons', {},
    element('button', { type: 'submit' }, isNew ? 'Add the row' : 'Save'),
    isNew ? null : element('button.plain.danger', { type: 'button', onclick: () => doubt(state) },
      'Delete the row…')) : null);
  replace(state.host, form);
  const at = table.columns.findIndex((one) => one.name === state.column);
  (fields[at]?.input ?? fields.find((one) => one.input)?.input)?.focus();
}

function doubt(state) {
  const keep = element('button.plain', { type: 'button', onclick: () => draw(state) }, 'Keep it');
  replace(state.host, element('p.question', {}, 'Delete this row, on every machine? ',
    element('button.danger', { type: 'button', onclick: () => write(state, 'DELETE') }, 'Delete'),
    keep));
  keep.focus();
}

/** Where a conflict is shown, for who may see it. */
function conflictLink(context, number) {
  if (!context.account.sees_site) return `number ${number}.`;
  return element('a', { href: `#/conflicts/${number}`, onclick: () => dialog.close() },
    `number ${number}.`);
}

/** Writes, waits for the verdict, and shows what stands then. */
async function write(state, method, body) {
  const { said, path } = state;
  if (state.isBusy) return;
  state.isBusy = true;
  // The same write, sent again, is done once.
  if (state.key?.body !== method + body) {
    state.key = { body: method + body, text: crypto.randomUUID() };
  }
  said.className = 'said';
  said.textContent = 'Saving, and asking the anchor if there is one…';
  try {
    const headers = { Prefer: `wait=${patience}`, 'Idempotency-Key': state.key.text };
    if (path !== null) headers['If-Match'] = state.tag;
    const target = path === null ? state.resource : `${state.resource}/${path}`;
    const answer = await call(method, target, { body, headers, rows: true, seconds: patience + 10 });
    said.textContent = verdicts[answer.headers.get('Flotilla-Verdict')] ?? verdicts.none;
    said.className = answer.status === 202 ? 'said waiting' : 'said good';
    if (answer.data?.receipt) (await import('./late.js')).wait(answer.data.receipt);
    if (method === 'DELETE') said.textContent = said.textContent.replace('Saved', 'Deleted');
    state.key = null;
    state.context.refresh();
    if (!state.isCurrent()) return;
    if (method === 'PATCH') await read(state);
    else replace(state.host, element('p.buttons', {}, path === null ? element('button', {
      type: 'button', onclick: () => edit(state.context, state.table, null) }, 'Add another') : null));
  } catch (error) {
    said.className = 'said bad';
    if (error.status) state.key = null;
    if (error.status === 409 && error.kind === 'rejected') {
      const words = [...new Set(error.problem.rows.filter((one) => one.verdict === 'rejected')
        .map((one) => [one.reason ? reason(one.reason) : null, one.rule ? `rule ${one.rule}` : null]
          .filter(Boolean).join('; ')))].filter(Boolean).join(', ');
      said.textContent = `The anchor has rejected it${words ? ` (${words})` : ''}. `
        + 'What stands is shown here; what you wrote is among the conflicts';
      const kept = error.problem.rows.find((one) => one.conflict);
      said.append(kept ? ' as ' : '.', kept ? conflictLink(state.context, kept.conflict) : '');
      state.context.refresh();
      if (path !== null) await read(state);
    } else if (error.status === 412) {
      const typed = new Map(typedIn(state));
      if (await read(state)) keep(state, typed);
      said.textContent = 'Nothing was saved: somebody else has changed the row meanwhile. What stands '
        + 'now is shown here. What you typed is still in its fields; save again to write it over that.';
    } else fail(state, error);
  } finally {
    state.isBusy = false;
  }
}
