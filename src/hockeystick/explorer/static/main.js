// The page: two plans, their numbers and their curves. The server computes; this file asks and shows the answers.

import { Place, started } from "./ask.js";
import { Chart, COMPUTING } from "./chart.js";
import { element } from "./dom.js";
import { Panel } from "./panel.js";
import { asked, read, written } from "./state.js";

const QUIET = 700; // milliseconds without a change after which the numbers are read out and the link is updated
const MOST_ASSUMPTIONS = 3; // shown outside the details
const NAMES = ["A", "B"];
const NOISES = { "noise-multiplier": "noise multiplier", scale: "noise scale", noise: "noise factor" };
const byId = (id) => document.getElementById(id);

let facts, state, charts, target;
const panels = {}, cards = {}, places = {}, timings = {};

async function begin() {
  try {
    facts = await started();
  } catch (error) {
    return trouble(error.message);
  }
  byId("version").textContent = `hockeystick ${facts.version}. Plots by uPlot 1.6.32.`;
  makeCharts();
  state = read(location.hash) || first();
  show();
  addEventListener("hashchange", () => {
    if (location.hash === written(state)) return;
    state = read(location.hash) || first();
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => each(charts, (chart) => chart.repaint()));
}

function each(things, act) {
  for (const [key, thing] of Object.entries(things)) act(thing, key);
}

function trouble(text) {
  byId("trouble").hidden = !text;
  byId("trouble").textContent = text || "";
}

/** The state of a link without one. */
function first() {
  const given = facts.given;
  const plan = given && !given.keys ? { given: given.digest, keys: {} } : { given: null, keys: { ...(given?.keys || facts.example) } };
  return { plans: { A: plan, B: null }, target: null };
}

/** Build the page for the state. */
function show() {
  state.target ??= "2";
  target.value = state.target;
  byId("plans").replaceChildren();
  byId("cards").replaceChildren();
  byId("caveats").replaceChildren();
  for (const name of NAMES) {
    if (places[name]) {
      places[name].number.stop();
      clearCurves(name);
    }
    delete panels[name];
    delete cards[name];
    if (state.plans[name]) put(name);
  }
  if (!state.plans.B) byId("plans").append(adder());
  changedAll();
}

function put(name) {
  panels[name] = new Panel(name, state.plans[name], facts, {
    changed: () => changed(name),
    remove: () => {
      state.plans.B = null;
      show();
      byId("plans").querySelector(".add").focus();
    },
    copy: (want, said) => copy(name, want, said),
  });
  byId("plans").append(panels[name].root);
  cards[name] = new Card(name);
  byId("cards").append(cards[name].root);
  byId("caveats").append(cards[name].more);
  places[name] = placesOf(name);
}

function adder() {
  const made = element("button", { type: "button", className: "add", textContent: "+ Compare with a plan B" });
  made.addEventListener("click", () => {
    state.plans.B = { given: state.plans.A.given, keys: { ...state.plans.A.keys } };
    show();
    panels.B.root.querySelector("input, select").focus();
  });
  return made;
}

// -- asking

function placesOf(name) {
  const own = { number: new Place(name, "epsilon", (found) => number(name, found), () => cards[name]?.wait()) };
  for (const want of Object.keys(charts)) {
    own[want] = new Place(name, want, (found) => curve(name, want, found));
  }
  own.calibrate = new Place(name, "calibrate", (found) => calibrated(name, found));
  own.copies = new Place(name, "copies", () => {});
  return own;
}

function changedAll() {
  for (const name of NAMES) if (state.plans[name]) changed(name);
  remember();
}

let frames = {};
function changed(name) {
  frames[name] ??= requestAnimationFrame(() => {
    frames[name] = null;
    if (!state.plans[name]) return;
    places[name].number.ask({ plan: asked(state.plans[name]) });
  });
  remember();
}

/** Ask for the curves of the plan whose number has just been shown. Until they arrive, no old number stands beside it. */
function askCurves(name, plan) {
  for (const want of Object.keys(charts)) {
    charts[want].waits(name);
    places[name][want].ask({ plan });
  }
  askNoise(name, plan);
}

function askNoise(name, plan) {
  charts.noise.found[name] = null;
  charts.noise.mark(name, null);
  sayNoise();
  places[name].calibrate.ask({ plan, target: state.target });
}

/** Remove the curves of a plan without a number; its card shows the reason. */
function clearCurves(name) {
  for (const want of Object.keys(charts)) {
    places[name][want].stop();
    charts[want].mark(name, null);
    charts[want].set(name, null);
  }
  places[name].calibrate.stop();
  delete charts.noise.found[name];
  sayNoise();
}

let quiet = null;
/** Update the link and read the numbers out once nothing has changed for a while. */
function remember() {
  clearTimeout(quiet);
  quiet = setTimeout(() => {
    quiet = null;
    history.replaceState(null, "", written(state));
    speak();
  }, QUIET);
}

function speak() {
  byId("spoken").textContent = NAMES.filter((name) => cards[name]).map((name) => cards[name].text).join(" ");
}

// -- showing

class Card {
  constructor(name) {
    this.name = name;
    this.value = element("p", { className: "number" });
    this.interval = element("p", { className: "interval" });
    this.warnings = element("div");
    this.list = element("dl");
    this.assumed = element("p", { className: "assumed" });
    this.more = element("section", { className: `caveats of-${name.toLowerCase()}`, attributes: { "aria-label": `Warnings and assumptions of plan ${name}` }, hidden: true },
      this.warnings, this.assumed, element("details", {}, element("summary", { textContent: `Details of plan ${name}` }), this.list));
    this.root = element(
      "section",
      { className: `card of-${name.toLowerCase()} waits`, attributes: { "aria-label": `Answer for plan ${name}` } },
      this.value,
      this.interval,
    );
    this.text = `Plan ${name}: ${COMPUTING}`;
  }

  badge() {
    return element("span", { className: "badge", textContent: this.name });
  }

  #waits(late) {
    this.root.classList.toggle("waits", late);
    this.more.classList.toggle("waits", late);
  }

  /** What is shown is not the answer for the present sliders. */
  wait() {
    this.#waits(true);
    this.interval.textContent = COMPUTING;
    this.text = `Plan ${this.name}: ${COMPUTING}`;
  }

  show(answer) {
    this.#waits(false);
    const finite = answer.answer.epsilon.upper !== null;
    this.value.replaceChildren(this.badge(), element("span", { className: "value", textContent: finite ? `ε ≤ ${answer.quoted}` : "ε is infinite" }),
      element("small", { textContent: ` at δ = ${answer.delta}` }));
    const [lower, upper] = answer.ends;
    const guarantee = answer.answer.guarantee;
    const { warnings } = answer.answer;
    this.interval.textContent = lower === null ? `at most ${upper} (${guarantee})` : `${lower} to ${upper} (${guarantee})`;
    if (warnings.length) this.interval.append(" ", element("span", { className: "flag", textContent: warnings.length === 1 ? "see warning" : `see ${warnings.length} warnings` }));
    this.warnings.replaceChildren(
      ...warnings.map((text) => element("p", { className: "warning" }, this.badge(), text)),
    );
    const rows = answer.lines.filter(([label]) => label !== "warning");
    this.list.replaceChildren(...rows.flatMap(([label, text]) => [
      element("dt", { textContent: label }), element("dd", { textContent: text })]));
    const { assumptions } = answer.answer;
    this.assumed.replaceChildren(this.badge(), `Assumes: ${assumptions.slice(0, MOST_ASSUMPTIONS).join("; ")}`);
    if (assumptions.length > MOST_ASSUMPTIONS) this.assumed.append(`; and ${assumptions.length - MOST_ASSUMPTIONS} more`);
    this.more.hidden = false;
    this.text = `Plan ${this.name}: ${answer.headline}. ${warnings.join(". ")}`;
  }

  refuse(error) {
    this.#waits(false);
    this.value.replaceChildren(this.badge(), "no number");
    this.interval.replaceChildren(element("span", { className: "refused", textContent: error }));
    this.more.hidden = true;
    this.text = `Plan ${this.name}: no number. ${error}`;
  }
}

function number(name, { answer, error, milliseconds, body, stale }) {
  const card = cards[name];
  if (!card) return;
  if (!stale) panels[name].refused(error);
  if (error) card.refuse(error);
  else card.show(answer);
  if (stale) card.wait();
  else if (!quiet) speak();
  if (error) return clearCurves(name);
  state.plans[name].rounds[answer.values.sampling] = answer.answer.rounds;
  charts.delta.mark(name, [answer.answer.epsilon.upper, answer.values.delta]);
  charts.delta.firsts[name] = answer.answer.epsilon.upper === null ? null : Number(answer.quoted);
  timed("number", name, milliseconds);
  askCurves(name, body.plan);
}

function curve(name, want, { answer, error, milliseconds, stale }) {
  if (!cards[name]) return;
  charts[want].set(name, error ? { error } : answer, stale);
  if (!error) timed("curves", `${name}${want}`, milliseconds);
}

function calibrated(name, { answer, error, stale }) {
  if (!cards[name] || stale) return;
  const chart = charts.noise;
  chart.found[name] = error ? { error } : answer;
  chart.mark(name, error ? null : [answer.value, answer.achieved]);
  chart.setLevel(Number(state.target) || null);
  sayNoise();
}

function sayNoise() {
  const { found } = charts.noise;
  const lines = NAMES.filter((name) => cards[name] && name in found).map((name) => {
    const { error, parameter, noise, target: reached } = found[name] || {};
    const row = element("div", { className: `of-${name.toLowerCase()}`, attributes: { "data-plan": name } });
    if (!found[name]) row.append(COMPUTING);
    else if (error) row.append(element("span", { className: "refused", textContent: error }));
    else row.append(element("strong", { textContent: `${NOISES[parameter]} ${noise}` }), ` suffices for ε\u00a0≤\u00a0${reached}`);
    return row;
  });
  needed.replaceChildren(...lines);
}

/** Show the milliseconds from the question to the answer. */
function timed(kind, key, milliseconds) {
  const now = performance.now();
  (timings[kind] ||= {})[key] = { milliseconds, now };
  const recent = (kind) => {
    const all = Object.values(timings[kind] || {});
    const newest = Math.max(...all.map((one) => one.now));
    return all.filter((one) => newest - one.now < 5000).map((one) => one.milliseconds);
  };
  const parts = [`number in ${Math.ceil(Math.max(...recent("number"), 0))} ms`];
  if (timings.curves) parts.push(`all curves in ${Math.ceil(Math.max(...recent("curves")))} ms`);
  byId("timing").textContent = parts.join(", ");
}

// -- figures

const needed = element("div", { className: "reading", attributes: { "aria-live": "polite" } });

function makeCharts() {
  const upper = (text) => text ?? "infinite";
  const bounds = ([, lower, high]) => (lower === null ? `≤ ${upper(high)}` : `from ${lower} to ${upper(high)}`);
  target = element("input", { type: "text", inputMode: "decimal", id: "target", maxLength: 60, spellcheck: false });
  target.addEventListener("input", () => {
    state.target = target.value.trim();
    for (const name of NAMES) {
      if (state.plans[name]) askNoise(name, asked(state.plans[name]));
    }
    remember();
  });
  const asking = element("label", {}, "target ε ", target);
  const text = (value) => () => value;
  charts = {
    delta: new Chart("delta", "Delta against epsilon",
      { x: { label: text("ε"), first: (name) => charts.delta.firsts[name] }, y: { label: text("δ"), log: true } },
      (row) => `at ε = ${row[0]}: δ ${bounds(row)}`, "All points hold at once. The dot is the epsilon above."),
    attack: new Chart("attack", "Best attack: TPR against FPR",
      { x: { label: text("false-positive rate (FPR)"), log: true, first: () => 0.01 }, y: { label: text("true-positive rate (TPR)"), log: true, range: () => [1e-4, 1] }, guess: true },
      (row) => `at FPR ${row[0]}: TPR ${bounds(row)}`, "No membership attack does better. Dotted: random guessing."),
    steps: new Chart("steps", "Epsilon over training",
      { x: { label: text("steps") }, y: { label: text("ε") } },
      (row) => `after ${row[0]} steps: ε ${bounds(row)}`, "Epsilon if training had stopped earlier, at the same delta."),
    noise: new Chart("noise", "Noise for a target epsilon",
      { x: { label: (chart) => NOISES[Object.values(chart.curves).find((one) => one.label)?.label] || "noise", log: true, first: (name, curve) => curve.x[Math.floor(curve.x.length / 2)] }, y: { label: text("ε"), log: true } },
      (row) => `at noise ${row[0]}: ε ${bounds(row)}`, "The dot is the smallest noise that is certified to meet the target.", asking),
  };
  charts.delta.firsts = {};
  charts.noise.found = {};
  charts.noise.lines.before(needed);
  byId("figures").append(...Object.values(charts).map((chart) => chart.root));
}

// -- copying

async function copy(name, want, said) {
  said.textContent = "";
  said.parentElement.querySelector("textarea")?.remove();
  let text;
  if (want === "link") {
    history.replaceState(null, "", written(state));
    text = location.href;
  } else {
    const found = await new Promise((resolve) => {
      places[name].copies.show = resolve;
      places[name].copies.ask({ plan: asked(state.plans[name]) });
    });
    if (found.error) return (said.textContent = found.error);
    text = found.answer[want];
  }
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = "Copied.";
  } catch {
    said.textContent = "The browser blocked copying. Here is the text:";
    said.after(element("textarea", { value: text, rows: 6, readOnly: true, attributes: { "aria-label": "Text to copy" } }));
  }
}

begin();
