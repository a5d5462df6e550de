// Rows of a table: filtered, sorted, page by page.

import { call, encoded } from './calls.js';
import { element, replace } from './elements.js';
import { parts, rowPath, shown } from './values.js';

/** Opens the dialog; its code is fetched once somebody needs it. */
const edit = async (...what) => (await import('./editor.js')).edit(...what);

const pageLength = 50;
const operators = [
  ['eq', 'is'], ['neq', 'is not'], ['contains', 'contains'], ['lt', 'is less than'],
  ['lte', 'is at most'], ['gt', 'is more than'], ['gte', 'is at least'],
  ['null', 'is NULL'], ['not_null', 'is not NULL'],
];

/** A filter as a parameter; a column named like one of the page's own goes into a group. */
function condition(column, operator, value) {
  const isNull = operator === 'null' || operator === 'not_null';
  const text = isNull ? `is.${operator}`
    : operator === 'contains' ? `like.%${value.replace(/[\\%_]/g, '\\$&')}%` : `${operator}.${value}`;
  if (!/^(select|order|limit|next|or|and|not\.or|not\.and)$/.test(column)) {
    return `${encoded(column)}=${encoded(text)}`;
  }
  const [word, ...rest] = text.split('.');
  const content = rest.join('.').replace(/["\\]/g, '\\$&');
  return `and=${encoded(isNull ? `(${column}.${text})` : `(${column}.${word}."${content}")`)}`;
}

const link = (name, query) => {
  const text = new URLSearchParams(query).toString();
  return `#/tables/${encodeURIComponent(name)}${text ? '?' + text : ''}`;
};

/** The same place in the table with something else about it; null takes a thing away. */
function turned(query, changes) {
  const next = Object.fromEntries(query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete next[key]; else next[key] = value;
  }
  return next;
}

const choice = (id, label, options, chosen, more = {}) => element('label.field', { for: id },
  element('span', {}, label),
  element('select', { id, 'data-at': id, ...more }, options.map(([value, text]) =>
    element('option', { value, selected: value === chosen }, text))));

function controls(context, known, table, query) {
  const go = (name, next) => { location.hash = link(name, next); };
  const [column, operator, value] = [query.get('column'), query.get('is'), query.get('value') ?? ''];
  const text = element('input', { id: 'value', type: 'search', value, autocomplete: 'off' });
  const form = element('form.controls', {
    onsubmit: (event) => {
      event.preventDefault();
      go(table.name, turned(query, {
        column: form.elements.column.value, is: form.elements.operator.value, value: text.value,
        next: null, page: null,
      }));
    },
  },
  choice('table', 'Table', known.map((one) => [one.name, one.name]), table.name,
    { onchange: (event) => go(event.target.value, {}) }),
  choice('column', 'Show rows whose', table.columns.map((one) => [one.name, one.name]), column),
  choice('operator', 'condition', operators, operator ?? 'eq'),
  element('label.field', { for: 'value' }, element('span', {}, 'value'), text),
  element('button', { type: 'submit' }, 'Filter'),
  column ? element('a.button', { href: link(table.name,
    turned(query, { column: null, is: null, value: null, next: null, page: null })) }, 'Show all')
    : null,
  table.right === 'write' ? element('button.plain.end', { type: 'button', 'data-at': 'add',
    onclick: () => edit(context, table, null) }, 'Add a row…')
    : element('span.quiet.end', {}, 'You may read this table, not write it.'));
  return form;
}

function heading(table, query, column) {
  const order = query.get('order') ?? '';
  const way = order === column.name ? 'ascending' : order === column.name + '.desc' ? 'descending'
    : null;
  const next = way === 'ascending' ? column.name + '.desc' : way ? null : column.name;
  return element('th', { scope: 'col', 'aria-sort': way },
    element('a', { href: link(table.name, turned(query, { order: next, next: null, page: null })),
      'data-at': 'h' + column.name, title: 'Sort by this column' },
    column.name, table.key.includes(column.name) ? element('span.key', { title: 'part of the key' },
      ' key') : null,
    way ? (way === 'ascending' ? ' ▲' : ' ▼') : ''));
}

function grid(context, table, query, rows) {
  const open = (row, name) => edit(context, table, rowPath(table, row), name);
  return element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': table.name },
    element('table.grid', {},
      element('thead', {}, element('tr', {},
        element('th', { scope: 'col' }, element('span.hidden', {}, 'Open')),
        table.columns.map((column) => heading(table, query, column)))),
      element('tbody', {}, rows.map((row) => {
        const path = rowPath(table, row);
        return element('tr', {},
          element('td', {}, path === null ? '' : element('button.plain.small', {
            type: 'button', 'data-at': 'r' + path, onclick: () => open(row),
            'aria-label': `Open the row ${decodeURIComponent(path)}`,
          }, table.right === 'write' ? 'Edit' : 'Show')),
          table.columns.map((column) => element('td', {
            class: parts(row[column.name]).kind === 'number' ? 'right' : null,
            onclick: path === null ? null : () => open(row, column.name),
          }, shown(row[column.name]))));
      }))));
}

/** Where the next page begins, as the header `Link` says. */
const nextOf = (headers) =>
  /[?&]next=([^&>]+)/.exec(headers.get('Link') ?? '')?.[1] ?? null;

export function tables(main, context, where) {
  const [name, query] = [where.parts[1], where.query];
  let [known, table, frame, isOld] = [null, null, null, true];
  const host = element('div');
  const settle = async (signal) => {
    // The schema may change while this is open; the list is asked for with each view.
    known = (await call('GET', context.path('tables'), { signal })).data.tables;
    table = known.find((one) => one.name === name) ?? (name ? null : known[0]);
    [frame, isOld] = [null, false];
  };
  return {
    table: () => table?.name,
    // Told of rows that change, it asks at once; the rest can wait.
    pause: 30000,
    async load(signal) {
      if (isOld) await settle(signal);
      if (!table) return { text: '', data: [] };
      const parameters = [`limit=${pageLength}`];
      if (query.get('order')) parameters.push(`order=${encoded(query.get('order'))}`);
      if (query.get('next')) parameters.push(`next=${query.get('next')}`);
      if (query.get('column')) {
        parameters.push(condition(query.get('column'), query.get('is') ?? 'eq',
          query.get('value') ?? ''));
      }
      const path = context.path(`rows/${encoded(table.name)}?${parameters.join('&')}`);
      try {
        return await call('GET', path, { signal, rows: true });
      } catch (error) {
        // A column has gone, or the table: look again next time.
        if (error.status === 404 || error.kind === 'column') isOld = true;
        if (error.status !== 400) throw error;
        return { text: error.message, data: [], wrong: error.message, headers: new Headers() };
      }
    },
    draw(answer) {
      if (!table) {
        return replace(main, element('h1', {}, 'Tables'), element('p.empty', {}, known?.length
          ? `There is no table ${name} that you may read.` : 'There is no table that you may read.'));
      }
      const next = nextOf(answer.headers);
      const page = Number(query.get('page') ?? 1);
      const rows = answer.data;
      replace(host,
        answer.wrong ? element('p.said', { role: 'alert' }, answer.wrong) : null,
        rows.length ? grid(context, table, query, rows) : element('p.empty', {}, query.get('column')
          ? 'No row is like that.' : 'No rows.'),
        element('p.pages', {},
          query.get('next') ? element('a.button', { 'data-at': 'first', href: link(table.name,
            turned(query, { next: null, page: null })) }, 'First page') : null,
          next ? element('a.button', { 'data-at': 'next', href: link(table.name,
            turned(query, { next, page: page + 1 })) }, 'Next page') : null,
          element('span.quiet', {}, next || page > 1 ? ` Page ${page}` : '')));
      if (!frame) {
        frame = controls(context, known, table, query);
        replace(main, element('h1', {}, table.name), frame, host);
      }
    },
  };
}
