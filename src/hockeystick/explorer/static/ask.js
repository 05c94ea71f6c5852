// Questions to the server. From each place one question is on its way at a time: a newer state waits until the answer is
// there, and one that is slow is aborted. What an answer belongs to is known by its number, so that none is shown late.

const PATIENCE = 300; // milliseconds after which a question is given up for a newer one
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36)).join("");
let serial = 0;

export async function started() {
  const response = await fetch("api/start");
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}

/** A place that asks one thing, and shows the answer to its newest question. */
export class Place {
  /** `show` gets {answer, milliseconds} or {error}; `wait` is called when an answer is late. */
  constructor(slot, want, show, wait) {
    Object.assign(this, { slot, want, show, wait, flying: null, next: null });
  }

  ask(body) {
    this.next = body;
    if (!this.flying) this.#send();
    else if (performance.now() - this.flying.began > PATIENCE) this.flying.abort.abort();
    else this.flying.timer ||= setTimeout(() => this.next && this.flying?.abort.abort(), PATIENCE);
  }

  stop() {
    this.next = null;
    this.flying?.abort.abort();
  }

  async #send() {
    const body = this.next;
    this.next = null;
    const flying = (this.flying = { abort: new AbortController(), began: performance.now(), timer: null });
    const late = setTimeout(this.wait, 120);
    let found = null;
    try {
      const response = await fetch("api/answer", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ tab: TAB, slot: this.slot, want: this.want, serial: ++serial, ...body }),
        signal: flying.abort.signal,
      });
      const text = await response.text();
      const milliseconds = performance.now() - flying.began;
      if (response.ok) found = { answer: JSON.parse(text), milliseconds };
      else if (response.status !== 409) found = { error: said(text) };
    } catch (error) {
      if (error.name !== "AbortError") found = { error: "the server does not answer: was `hockeystick explore` ended?" };
    }
    clearTimeout(late);
    clearTimeout(flying.timer);
    this.flying = null;
    if (this.next) {
      if (found?.answer) this.show({ ...found, stale: true }); // what is on the way is newer: shown as waiting
      this.#send();
    } else if (found) this.show(found);
  }
}

function said(text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return text.trim();
  }
}
