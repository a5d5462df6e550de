// What time it is in the site, and whose clock is wrong.

import { call } from './calls.js';
import { command, counted, element, list, replace, shellWord } from './elements.js';

const sources = {
  person: 'a person has set it', clock: 'the clock of a machine',
  memory: 'the last time that was known, for no machine with a clock has said more',
};

function ahead(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return 'not known yet';
  const size = Math.abs(milliseconds) / 1000;
  const text = size < 90 ? `${size.toFixed(size < 10 ? 2 : 0)} s`
    : size < 5400 ? `${Math.round(size / 60)} min`
      : size < 172800 ? `${(size / 3600).toFixed(1)} h` : `${Math.round(size / 86400)} days`;
  if (size < 0.05) return 'right';
  return `${text} ${milliseconds < 0 ? 'behind' : 'ahead'}`;
}

export function open(main, context) {
  const file = shellWord(context.account.file);
  const said = element('p.said', { role: 'status' });
  let isAsked = false;
  let last = null;

  async function tell(good) {
    isAsked = false;
    said.textContent = 'Asking the node…';
    try {
      await call('POST', context.path('clock'), { body: JSON.stringify({ good }) });
      said.textContent = good ? 'The time of the site is that of this machine from now on.'
        : 'Its clock is taken for one like others.';
    } catch (error) {
      said.textContent = `That did not work: ${error.message}. ${error.problem?.remedy ?? ''}`;
    }
    context.refresh();
  }

  function actions(clock) {
    if (!context.account.settles) return null;
    if (clock.good) return element('p.buttons', {}, element('button.plain', {
      type: 'button', 'data-at': 'not', onclick: () => tell(false),
    }, 'This machine’s clock is one like others'));
    if (!isAsked) return element('p.buttons', {}, element('button', {
      type: 'button', 'data-at': 'good', onclick: () => { isAsked = true; draw(last); },
    }, 'This machine’s clock is right…'));
    // The browser may run on another machine, whose clock says something else.
    const says = clock.site_time && clock.clock_offset_ms !== null
      ? `, which says ${new Date(Date.parse(clock.site_time) + clock.clock_offset_ms).toLocaleString()}`
      : '';
    return element('p.question', {}, `The whole site then goes by this machine’s clock${says}. `
      + 'Is that so? ',
    element('button', { type: 'button', 'data-at': 'good', onclick: () => tell(true) }, 'Yes, it is right'),
    element('button.plain', { type: 'button', onclick: () => { isAsked = false; draw(last); } },
      'Leave it'));
  }

  function draw(answer) {
    last = answer;
    const { clock, peers } = answer.data;
    const fact = (name, value, look = '') => element(`div.fact${look}`, {},
      element('dt', {}, name), element('dd', {}, value));
    const time = clock.site_time ? new Date(clock.site_time) : null;
    const isOff = Math.abs(clock.clock_offset_ms ?? 0) > 2000;
    replace(main, element('h1', {}, 'Clock'),
      element('p', {}, 'Which of two edits is the newer one is told by the time of the site. It goes on '
        + 'whatever somebody does to the clock of a machine.'),
      element('dl.facts', {},
        fact('Time of the site', time ? time.toLocaleString() : 'not known yet', time ? '' : '.waiting'),
        fact('This machine’s clock', ahead(clock.clock_offset_ms), isOff ? '.waiting' : '.good'),
        fact('Where it is from', clock.good ? 'this machine’s clock, which is believed'
          : sources[clock.source] ?? 'nothing yet'),
        clock.waiting ? fact('Edits that wait for it', String(clock.waiting), '.waiting') : null,
        clock.future ? fact('Rows from the future', String(clock.future), '.waiting') : null),
      clock.future ? element('p', {}, counted(clock.future, 'row has', 'rows have')
        + ' a time that is yet to come, so no edit of today stands against them. To cure that, type: ',
      command(`flotilla clock ${file} --repair`)) : null,
      said, actions(clock),
      element('h2', {}, 'Other nodes'),
      peers.length ? list(['Node', 'Its clock', ''], peers.map((one) => [
        element('span.name', {}, one.node), ahead(one.clock_offset_ms),
        Math.abs(one.clock_offset_ms) < 2000 ? '' : one.corrected
          ? 'what is written there gets the time of the site' : 'not corrected yet',
      ]), 'Clocks') : element('p.quiet', {}, 'No other node is connected.'),
      element('p.quiet', {}, 'To set another time, type on a machine of the site: ',
        command(`flotilla clock ${file} --set "2026-03-01 08:14:00"`)));
  }
  return { ticks: true, load: (signal) => call('GET', context.path('clock'), { signal }), draw };
}
