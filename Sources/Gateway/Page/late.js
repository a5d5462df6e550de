// Edits that wait for the anchor: its verdict comes later than the answer, and a rejection is told.

import { call } from './calls.js';
import { element, replace } from './elements.js';
import { reason } from './conflicts.js';
import { parts } from './values.js';

const host = document.getElementById('late');
// It outlives a reload, and ends with the tab.
const place = 'flotilla-late';
const most = 100;
const asked = 5;
let notes = [];

const read = () => JSON.parse(sessionStorage.getItem(place) ?? '[]');
const keep = (list) => sessionStorage.setItem(place, JSON.stringify(list.slice(-most)));
const keyWords = (row) => Object.values(row.key).map((value) => parts(value).text).join(', ');

/** Waits for the verdict behind a receipt. */
export function wait(receipt) {
  keep([...read().filter((one) => one !== receipt), receipt]);
}

/** Asks for some of the verdicts that are awaited, in turn. */
export async function look(context, signal) {
  const isOfThis = (one) => decodeURIComponent(one.split('/')[2]) === context.account.database;
  for (const receipt of read().filter(isOfThis).slice(0, asked)) {
    let answer;
    try {
      answer = (await call('GET', receipt, { rows: true, signal })).data;
    } catch (error) {
      // A receipt that is not kept any more tells nothing, nor does one without an anchor.
      if (error.status !== 404 && error.status !== 409) throw error;
      answer = { verdict: 'unknown', rows: [] };
    }
    const rest = read().filter((one) => one !== receipt);
    keep(answer.verdict === 'pending' ? [...rest, receipt] : rest);
    const lost = answer.rows.filter((one) => one.verdict === 'rejected');
    if (!lost.length) continue;
    notes.push(...lost);
    draw(context);
  }
}

function draw(context) {
  replace(host, notes.map((row) => element('p', {},
    `The anchor has rejected what you wrote in ${row.table}, ${keyWords(row)}`,
    row.reason ? ` (${reason(row.reason)})` : '', '. ',
    !row.conflict ? 'What stands is in the table.' : context.account.sees_site
      ? element('a', { href: `#/conflicts/${row.conflict}` }, `It is kept as conflict ${row.conflict}.`)
      : `It is kept as conflict ${row.conflict}.`, ' ',
    element('button.plain.small', { type: 'button', onclick: () => {
      notes = notes.filter((one) => one !== row);
      draw(context);
    } }, 'Seen'))));
}

/** Nobody is signed in any more. */
export function clear() {
  notes = [];
  sessionStorage.removeItem(place);
  replace(host);
}
