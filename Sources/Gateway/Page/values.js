// Values of rows: how they are shown, how they are written, and how a key becomes a path. The
// forms are those of docs/http.md: {"base64":…}, {"integer":…} and their like.

import { Numeral, encoded } from './calls.js';
import { element } from './elements.js';

const form = (value) =>
  value !== null && typeof value === 'object' && !(value instanceof Numeral)
    ? Object.entries(value)[0] : null;

/** What a value is, in a word, and the text that says it in full. */
export function parts(value) {
  if (value === null || value === undefined) return { kind: 'null', text: '' };
  if (value instanceof Numeral) return { kind: 'number', text: value.source };
  if (typeof value === 'number') return { kind: 'number', text: String(value) };
  const long = form(value);
  if (!long) return { kind: 'text', text: String(value) };
  if (long[0] === 'integer' || long[0] === 'real') return { kind: 'number', text: long[1] };
  return { kind: long[0], text: long[1] };
}

const size = (base64) => Math.floor(base64.replace(/=+$/, '').length * 3 / 4);

/** An element that shows a value. */
export function shown(value, longest = 200) {
  const { kind, text } = parts(value);
  if (kind === 'null') return element('span.none', {}, 'NULL');
  const cut = (all) => all.length > longest ? all.slice(0, longest) + '…' : all;
  if (kind === 'base64') {
    const name = size(text) === 1 ? '1 byte' : `${size(text).toLocaleString('en')} bytes`;
    return element('span.bytes', { title: cut(text) }, `${name}: ${cut(text).slice(0, 24)}`);
  }
  if (kind === 'base64_text') {
    return element('span.bytes', { title: 'text that is not UTF-8, in base 64' }, cut(text));
  }
  const title = text.length > 24 ? text.slice(0, 1000) : undefined;
  return element(kind === 'number' ? 'span.number' : 'span', { title }, cut(text));
}

export const same = (left, right) => {
  const [a, b] = [parts(left), parts(right)];
  return a.kind === b.kind && a.text === b.text;
};

/** The path of a row; null if its key does not name it. */
export function rowPath(table, row) {
  const path = [];
  for (const name of table.key) {
    const value = row[name];
    const typed = table.columns.find((one) => one.name === name)?.typed;
    if (value === null || value === undefined) return null;
    if (typeof value === 'string') {
      // A text that looks like something else needs its long form, and so do the dots of paths.
      path.push(!typed || /^(\{|\.\.?$)/.test(value) ? JSON.stringify({ text: value }) : value);
    } else path.push(value instanceof Numeral ? value.source : JSON.stringify(value));
  }
  return path.length ? path.map(encoded).join(',') : null;
}

/** The kinds of value that a person may write into a column. */
export const kinds = (column) => column.typed
  ? [['value', 'value'], ['null', 'NULL (nothing)'], ['base64', 'bytes, in base 64']]
  : [['text', 'text'], ['number', 'number'], ['null', 'NULL (nothing)'],
    ['base64', 'bytes, in base 64']];

/** The kind that a value has among these. */
export function kindOf(value, column) {
  const { kind } = parts(value);
  if (kind === 'base64_text') return kind;
  return column.typed && (kind === 'text' || kind === 'number') ? 'value' : kind;
}

/** JSON of what was written; a column with a type makes of text what it is meant to be. */
export function written(kind, text) {
  switch (kind) {
    case 'null': return 'null';
    case 'base64': return JSON.stringify({ base64: text.replace(/\s/g, '') });
    case 'base64_text': return JSON.stringify({ base64_text: text });
    case 'number': {
      const number = text.trim();
      return JSON.stringify(/^-?\d+$/.test(number) ? { integer: number } : { real: number });
    }
    default: return JSON.stringify(text);
  }
}
