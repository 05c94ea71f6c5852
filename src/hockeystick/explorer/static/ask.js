// Questions to the server. Each place has one question in flight: a newer one waits for its answer, or aborts it if it is
// slow. The server drops a question once a newer serial number of the same place has arrived.

const PATIENCE = 300; // milliseconds after which a newer question aborts the one in flight
const LATE = 120; // milliseconds after which a question counts as late
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36)).join("");
let serial = 0;

export async function started() {
  const response = await fetch("api/start");
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}

/** A place that asks for one thing and shows the answer to its newest question. */
export class Place {
  /**
   * `show` gets {answer, milliseconds} or {error}, and with both the `body` of the question; `stale` is true if a newer
   * question waits. `wait` is called when an answer is late.
   */
  constructor(slot, want, show, wait = () => {}) {
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
    const late = setTimeout(this.wait, LATE);
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
      if (error.name !== "AbortError") found = { error: "the server does not answer: is `hockeystick explore` still running?" };
    }
    clearTimeout(late);
    clearTimeout(flying.timer);
    this.flying = null;
    if (this.next) {
      if (found?.answer) this.show({ ...found, body, stale: true });
      this.#send();
    } else if (found) this.show({ ...found, body });
  }
}

function said(text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return text.trim();
  }
}
