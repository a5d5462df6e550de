// Hears of changed rows as they come: one tab of the browser follows the node, and tells the others.

const pause = 200;

/**
 * Calls `heard` with a Set of the tables in which rows have changed, or with null if that is not
 * known. Gives a function that ends it.
 *
 * A browser has six connections to a node, and an answer without end takes one. So whichever tab
 * holds the lock follows; when it is closed the next one gets the lock. Where a browser knows no
 * locks each tab asks every two seconds, as it does anyway.
 */
export function follow(path, heard) {
  if (!navigator.locks || !window.BroadcastChannel) return () => {};
  const name = `flotilla ${path}`;
  const channel = new BroadcastChannel(name);
  const ended = new AbortController();
  channel.onmessage = ({ data }) => heard(data);

  // The first change is told at once, for a tab that is not seen has slow timers; what comes within
  // a moment after it is told together.
  let waiting = null;
  function tell(table) {
    if (waiting) { waiting.add(table); return; }
    waiting = new Set();
    setTimeout(() => {
      const tables = waiting;
      waiting = null;
      if (tables.size) pass(tables);
    }, pause);
    pass(new Set([table]));
  }
  function pass(tables) {
    if (ended.signal.aborted) return;
    const known = tables.has(null) ? null : tables;
    channel.postMessage(known);
    heard(known);
  }

  let patience = 5000;
  function open() {
    if (ended.signal.aborted) return;
    const source = new EventSource(path);
    source.addEventListener('open', () => { patience = 5000; });
    source.addEventListener('change', ({ data }) => tell(JSON.parse(data).table));
    source.addEventListener('reset', () => tell(null));
    // A lost connection is opened again by the browser; one that was refused is not.
    source.addEventListener('error', () => {
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(open, patience);
      patience = Math.min(2 * patience, 300000);
    });
    ended.signal.addEventListener('abort', () => source.close());
  }
  navigator.locks.request(name, { signal: ended.signal }, () => new Promise((release) => {
    ended.signal.addEventListener('abort', release);
    open();
  })).catch(() => {});
  return () => { ended.abort(); channel.close(); };
}
