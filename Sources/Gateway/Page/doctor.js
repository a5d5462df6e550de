// What is wrong with this node, and what to do about it.

import { call } from './calls.js';
import { command, counted, element, list, replace, shellWord } from './elements.js';

const levels = {
  error: ['wrong', 'bad', '✕'], warning: ['look at it', 'waiting', '◐'], ok: ['fine', 'good', '●'],
};
const order = ['error', 'warning', 'ok'];

/** 812 bytes, 1.4 MB, 31 MB: as the commands write it. */
function size(bytes) {
  let amount = bytes;
  for (const unit of ['bytes', 'kB', 'MB', 'GB']) {
    if (unit === 'bytes' ? amount < 1000 : amount < 999.5) {
      return `${unit === 'bytes' || amount >= 9.95 ? Math.round(amount) : amount.toFixed(1)} ${unit}`;
    }
    amount /= 1000;
  }
  return `${amount.toFixed(1)} TB`;
}

export function open(main, context) {
  const file = shellWord(context.account.file);
  return {
    // It looks into the file: not every two seconds.
    pause: 30000,
    load: (signal) => call('GET', context.path('doctor'), { signal, seconds: 60 }),
    draw({ data }) {
      const bad = data.findings.filter((one) => one.level !== 'ok');
      const findings = [...data.findings].sort(
        (one, other) => order.indexOf(one.level) - order.indexOf(other.level));
      const whole = data.size?.total_bytes ?? data.size?.file_bytes;
      replace(main, element('h1', {}, 'Doctor'),
        element('p', {}, bad.length ? `${counted(bad.length, 'finding')} to look at.`
          : 'Nothing is wrong with this node.',
        whole ? element('span.quiet', {}, ` The file takes ${size(whole)}.`) : null),
        list(['What', 'How it is', 'Found', 'What to do'], findings.map((one) => {
          const [text, look, mark] = levels[one.level] ?? levels.warning;
          return [one.check, element(`span.badge.${look}`, {},
            element('span', { 'aria-hidden': 'true' }, mark + ' '), text), one.text, one.remedy ?? ''];
        }), 'Findings'),
        element('p.buttons', {}, element('button.plain', {
          type: 'button', 'data-at': 'again', onclick: () => context.refresh(),
        }, 'Look again')),
        element('p.quiet', {}, 'To repair what can be repaired, type: ',
          command(`flotilla doctor ${file} --repair`)));
    },
  };
}
