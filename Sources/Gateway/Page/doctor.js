// What is wrong with this node, and what to do about it.

import { call } from './calls.js';
import { command, counted, element, list, replace, shellWord } from './elements.js';

const levels = {
  error: ['wrong', 'bad', '✕'], warning: ['look at it', 'waiting', '◐'], ok: ['fine', 'good', '●'],
};
const order = ['error', 'warning', 'ok'];

const size = (bytes) => bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KiB`
  : bytes < 1 << 30 ? `${(bytes / (1 << 20)).toFixed(1)} MiB` : `${(bytes / (1 << 30)).toFixed(1)} GiB`;

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
