// Asks the node. All that this page knows comes through here.

/** A number as it was written: JavaScript itself makes 5 of 5.0. */
export class Numeral {
  constructor(source) { this.source = source; }
  toString() { return this.source; }
  toJSON() { return Number(this.source); }
}

/** An answer that is no success; status 0 stands for none at all. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail ?? 'the node does not answer');
    this.status = status;
    this.problem = problem;
    this.kind = (problem.type ?? '').split(':').pop();
  }
}

// Browsers that do not tell the source of a number show 5.0 as 5; nothing is written back so.
const exact = (_, value, context) =>
  typeof value === 'number' ? new Numeral(context?.source ?? String(value)) : value;

/**
 * One request. `rows` says that the answer holds values of rows, which stay as they were written.
 * Gives {status, headers, text, data}.
 */
export async function call(method, path, { body, headers, rows, signal, seconds = 15 } = {}) {
  const limit = AbortSignal.timeout(seconds * 1000);
  let answer, text;
  try {
    answer = await fetch(path, {
      method, body: body === undefined ? undefined : body,
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      credentials: 'same-origin', redirect: 'error', cache: 'no-store',
    });
    text = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(0, { detail: 'the node does not answer' });
  }
  let data = null;
  try {
    data = text ? JSON.parse(text, rows ? exact : undefined) : null;
  } catch {
    // What is wrong already as HTTP is answered in other words than JSON.
    data = { detail: `the node answered ${answer.status}` };
  }
  if (!answer.ok) throw new Refusal(answer.status, data ?? {});
  return { status: answer.status, headers: answer.headers, text, data };
}

/** A part of a path: also brackets and quotes are encoded. */
export const encoded = (text) => encodeURIComponent(text).replace(
  /[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
