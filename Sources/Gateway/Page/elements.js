// Makes elements. Text goes in as text, never as HTML.

/** element('p.quiet', {title: 'x', onclick: f}, 'text', another element, …) */
export function element(name, properties = {}, ...content) {
  const [tag, ...classes] = name.split('.');
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(' ');
  return furnish(made, properties, content);
}

/** The same for a part of a picture. */
export function shape(name, properties = {}, ...content) {
  return furnish(document.createElementNS('http://www.w3.org/2000/svg', name), properties, content);
}

function furnish(made, properties, content) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...content.flat().filter((one) => one !== null && one !== undefined));
  return made;
}

/** A table for reading: each row a list of cells; on small screens a row is a card. */
export function list(headings, rows, label, name = 'table.cards') {
  return element(name, { 'aria-label': label },
    element('thead', {}, element('tr', {}, headings.map((one) =>
      element('th', { scope: 'col' }, one)))),
    element('tbody', {}, rows.map((cells) => element('tr', {}, cells.map((cell, index) =>
      element('td', { 'data-label': headings[index] }, element('div', {}, cell ?? '')))))));
}

/** A command to type, for what this page cannot do. */
export const command = (text) => element('code.command', {}, text);

export const counted = (number, one, many = one + 's') =>
  `${Number(number).toLocaleString('en')} ${Number(number) === 1 ? one : many}`;

/** A word that may stand in a shell as it is, or in quotes. */
export const shellWord = (text) =>
  /^[\w.@%+=:,/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A moment as a person says it; the whole of it is shown when the pointer rests there. */
export function moment(iso, now) {
  if (!iso) return element('span.quiet', {}, 'never');
  const then = new Date(iso);
  const seconds = ((now ? new Date(now) : new Date()) - then) / 1000;
  const time = then.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  let text;
  if (seconds < 10) text = 'now';
  else if (seconds < 90) text = `${Math.round(seconds)} s ago`;
  else if (seconds < 5400) text = `${Math.round(seconds / 60)} min ago`;
  else if (seconds < 20 * 3600) text = `${Math.round(seconds / 3600)} h ago (${time})`;
  else text = `${then.toLocaleDateString()} ${time}`;
  return element('time', { datetime: iso, title: then.toLocaleString() }, text);
}

/** Puts new content in place; the focus stays where it was, as `data-at` names it. */
export function replace(host, ...content) {
  const at = host.contains(document.activeElement) ? document.activeElement.dataset.at : null;
  const before = host.querySelector('.scroll');
  const [left, top] = [before?.scrollLeft ?? 0, before?.scrollTop ?? 0];
  host.replaceChildren(...content.flat().filter(Boolean));
  const after = host.querySelector('.scroll');
  if (after) [after.scrollLeft, after.scrollTop] = [left, top];
  if (at) host.querySelector(`[data-at="${CSS.escape(at)}"]`)?.focus({ preventScroll: true });
}
