// Who belongs to the site: letting a machine in, saying what it may do, shutting it out.

import { call, encoded } from './calls.js';
import { command, counted, element, list, moment, replace, shellWord } from './elements.js';
import { picture } from './qr.js';

const dialog = document.getElementById('dialog');
let opener = null;
const back = () => document.querySelector(`[data-at="${CSS.escape(opener ?? '')}"]`)?.focus();

/** A dialog with a heading; gives where its content goes, and where it is told what happened. */
function show(title, at) {
  const host = element('div');
  const said = element('p.said', { role: 'status' });
  replace(dialog, element('header', {}, element('h2', { id: 'dialog-title' }, title),
    element('button.plain', { type: 'button', onclick: () => dialog.close() }, 'Close')),
  said, host);
  opener = at;
  dialog.addEventListener('close', back, { once: true });
  if (!dialog.open) dialog.showModal();
  return { host, said };
}

/** Asks the node for a change and says what came of it. */
async function ask(said, context, path, body, done) {
  said.className = 'said';
  said.textContent = 'Asking the node…';
  try {
    const { data } = await call('POST', context.path(path),
      { body: body ? JSON.stringify(body) : undefined, seconds: 30 });
    said.className = 'said good';
    said.textContent = done(data);
    context.refresh();
    return data;
  } catch (error) {
    said.className = 'said bad';
    said.textContent = error.status === 0 ? 'The node does not answer. See in the list of members '
      + 'whether it was done.' : `That did not work: ${error.message}. ${error.problem?.remedy ?? ''}`;
    return null;
  }
}

const field = (label, control) => element('label.field', {}, element('span', {}, label), control);
const choice = (options, chosen) => element('select', {}, options.map(([value, text]) =>
  element('option', { value, selected: value === chosen }, text)));

// Inviting.

function invite(context) {
  const { host, said } = show('Invite a machine', 'invite');
  const role = choice([['reader', 'read every table'], ['writer', 'read and write every table'],
    ['anchor', 'be the anchor, too'], ['admin', 'be an admin: invite and revoke, too']], 'writer');
  const time = choice([['900', '15 minutes'], ['3600', '1 hour'], ['86400', '1 day']], '900');
  replace(host, element('form', {
    onsubmit: async (event) => {
      event.preventDefault();
      const data = await ask(said, context, 'invitations',
        { role: role.value, seconds: Number(time.value) }, () => '');
      if (data) replace(host, ticket(context, data));
    },
  },
  element('p', {}, 'You get a code. Whoever types it on a machine of this network lets that machine '
    + 'into the site, once.'),
  element('p.controls', {}, field('It may', role), field('The code is good for', time)),
  element('p.buttons', {}, element('button', { type: 'submit' }, 'Make a code'))));
  role.focus();
}

function ticket(context, { code, expires, port }) {
  const file = shellWord(context.account.file);
  return element('div.ticket', {},
    picture(code),
    element('div', {},
      element('p.code', {}, code.split('-').flatMap((part, index) =>
        [index ? '-' : null, element('span', {}, part)])),
      element('p', {}, `It can be used once, until ${new Date(expires).toLocaleTimeString([],
        { hour: '2-digit', minute: '2-digit' })}. Show it to nobody else.`),
      element('p', {}, 'On the new machine, type: '),
      element('p', {}, command(`flotilla join ${file} ${code}`)),
      element('p.quiet', {}, 'If that machine does not find this one, add ',
        command(`--at HOST:${port ?? 'PORT'}`), ' with the name or address of this machine. Both '
        + 'sides then show the same four words; here they stand in the list of members.')));
}

// Rights.

function grant(context, member, tables) {
  const { host, said } = show(`What ${member.node} may do`, `g${member.id}`);
  const table = choice(tables.map((one) => [one, one]));
  const right = choice([['write', 'read and write'], ['read', 'only read'],
    ['none', 'neither read nor write']], 'read');
  const form = element('form', {
    onsubmit: (event) => {
      event.preventDefault();
      const words = right.selectedOptions[0].textContent;
      const sure = element('button', {
        type: 'button', onclick: async () => {
          await ask(said, context, `members/${encoded(member.id)}/grant`,
            { table: table.value, right: right.value }, (data) =>
              `${data.node} may ${words} ${data.table} from now on.`
              + (data.is_leaf ? ' It passes nothing on to others any more.' : ''));
          replace(host, form);
        },
      }, 'Yes, change it');
      replace(host, element('p.question', {}, `From now on ${member.node} may ${words} the table `
        + `${table.value}, on every machine of the site. Is that right? `, sure,
      element('button.plain', { type: 'button', onclick: () => replace(host, form) }, 'Leave it')));
      sure.focus();
    },
  },
  element('p', {}, `Its role is ${member.role}. A right to a table comes before what the role says.`),
  element('p.controls', {}, field('Table', table), field('It may', right)),
  element('p.buttons', {}, element('button', { type: 'submit' }, 'Change…')));
  replace(host, form);
  table.focus();
}

// Shutting out.

function revoke(context, member) {
  const { host, said } = show(`Shut out ${member.node}`, `x${member.id}`);
  const name = element('input', { autocomplete: 'off', spellcheck: 'false' });
  const button = element('button.danger', { type: 'submit', disabled: true }, 'Shut it out, for good');
  name.addEventListener('input', () => { button.disabled = name.value.trim() !== member.node; });
  replace(host, element('form', {
    onsubmit: async (event) => {
      event.preventDefault();
      if (name.value.trim() !== member.node) return;
      button.disabled = true;
      const data = await ask(said, context, `members/${encoded(member.id)}/revoke`, null, (done) =>
        `${done.node} is shut out. ${done.told.length
          ? `${counted(done.told.length, 'node')} in reach ${done.told.length === 1 ? 'was' : 'were'} `
            + 'told at once.' : 'No other node was in reach; it tells them once it meets them.'}`
        + (done.was_anchor ? ' It was the anchor: appoint another one.' : '')
        + (done.also.length ? ` With it: ${done.also.join(', ')}, which it had let in.` : ''));
      if (data) replace(host);
      else button.disabled = false;
    },
  },
  member.is_anchor ? element('p', {}, element('strong', {}, `${member.node} is the anchor of the site.`),
    ' Once it is shut out, what is written waits for a verdict that nobody gives, until an admin '
    + 'appoints another: ', command(`flotilla anchor ${shellWord(context.account.file)} NODE`),
    '; or lets newest win, with ', command('--none')) : null,
  element('p', {}, `No machine of the site talks to ${member.node} any more. What it has written stays, and `
    + 'it keeps its file. This cannot be taken back: to return, it must be invited anew.'),
  element('p.controls', {}, field(`To be sure, type its name: ${member.node}`, name)),
  element('p.buttons', {}, button, element('button.plain', {
    type: 'button', onclick: () => dialog.close() }, 'Leave it'))));
  name.focus();
}

function buttons(context, member, tables) {
  if (!context.account.settles || member.is_this_node || member.state !== 'member') return '';
  return element('span.buttons', {},
    element('button.plain.small', {
      type: 'button', 'data-at': `g${member.id}`, onclick: () => grant(context, member, tables),
    }, 'Rights…'),
    element('button.plain.small.danger', {
      type: 'button', 'data-at': `x${member.id}`, onclick: () => revoke(context, member),
    }, 'Shut out…'));
}

export function open(main, context) {
  const file = shellWord(context.account.file);
  return {
    ticks: true,
    load: (signal) => call('GET', context.path('members'), { signal }),
    draw({ data }) {
      const tables = (context.status?.tables ?? []).map((one) => one.name);
      replace(main, element('h1', {}, 'Members'),
        context.account.settles ? element('p.buttons', {}, element('button', {
          type: 'button', 'data-at': 'invite', onclick: () => invite(context),
        }, 'Invite a machine…')) : element('p', {}, 'Your token may not change this. Type: ',
          command(`flotilla invite ${file}`)),
        list(['Node', 'Role', 'State', 'Since', 'Last seen', 'Admitted by', 'Words', 'Rights', ''],
          data.members.map((one) => [
            element('span.name', {}, one.node,
              one.is_this_node ? element('span.quiet', {}, ' (this node)') : null),
            one.is_anchor ? `${one.role} (is the anchor)` : one.role, one.state, moment(one.since),
            one.is_this_node ? 'now' : moment(one.last_seen),
            one.admitted_by, one.words ?? '',
            Object.entries(one.rights).map(([table, right]) => `${table}: ${right}`).join(', '),
            buttons(context, one, tables),
          ]), 'Members'),
        element('p.quiet', {}, 'To wait no longer for a machine that will not return, type: ',
          command(`flotilla forget ${file} NODE`)));
    },
  };
}
