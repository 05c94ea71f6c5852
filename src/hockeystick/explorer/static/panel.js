// The controls of one plan: text boxes for numbers as people write them, and sliders on logarithmic scales.

import { element } from "./dom.js";
import { roughly } from "./state.js";

const TICKS = 1000; // positions of a slider
const RELATIONS = {
  "add-or-remove": "add or remove one record",
  add: "add one record",
  remove: "remove one record",
  "replace-one": "replace one record",
  "zero-out": "zero out one record",
};
const SCHEMES = {
  poisson: "Poisson, each record independently",
  "random-allocation": "random allocation, once per epoch",
  "without-replacement": "fixed size, without replacement",
  shuffled: "shuffled batches",
  "with-replacement": "fixed size, with replacement",
  "truncated-poisson": "Poisson, large batches truncated",
  "cyclic-poisson": "Poisson, groups taking turns",
  none: "none: all records in every step",
};
const SIZES = ["batch_size", "draws", "dataset_size", "sample_rate", "max_batch_size", "groups"];
const LENGTHS = ["epochs", "steps"];
const SOME_STEPS = 1000; // where the number of steps is not known yet
const ROOM = 4; // first maximum batch size, in standard deviations above the mean
const GROUPS = "4"; // first number of groups
const WAYS = { batch_size: "size", sample_rate: "rate", epochs: "epochs", steps: "steps" };

export class Panel {
  /** `facts` is the server's first answer; `events` has functions for a change, the removal of the plan, and copying. */
  constructor(name, plan, facts, events) {
    Object.assign(this, { name, plan, facts, events, fields: {} });
    plan.base ??= { ...plan.keys }; // the keys as they were last edited: a change of scheme starts from them
    plan.kept ??= {}; // the last value of every key
    plan.rounds ??= {}; // the number of steps in the last answer under each scheme
    this.id = name.toLowerCase();
    this.root = element("form", {
      className: `panel of-${this.id}`,
      autocomplete: "off",
      attributes: { "aria-label": `Plan ${name}`, novalidate: "" },
    });
    this.root.addEventListener("submit", (event) => event.preventDefault());
    this.build();
  }

  get given() {
    return this.plan.given ? this.facts.given : null;
  }

  build() {
    this.fields = {};
    const title = element("h2", {}, element("span", { className: "badge", textContent: this.name }));
    const file = this.facts.given;
    const of = this.given ? file.name || "Plan from Python" : "";
    title.append(of || `Plan ${this.name}`);
    const head = element("div", { className: "panel-head" }, title);
    if (this.name === "B") {
      head.append(this.button("Remove", () => this.events.remove(), "Remove plan B"));
    }
    this.root.replaceChildren(head);
    if (this.given) this.#givenFields(file);
    else this.#keyFields();
    this.#copies();
  }

  // -- plans by the keys of DP-SGD

  #keyFields() {
    const keys = this.plan.keys;
    const schemes = this.facts.schemes.map((scheme) => [scheme.name, SCHEMES[scheme.name] || scheme.name]);
    this.root.append(
      this.#select("sampling", "Sampling", schemes, (value) => this.#scheme(value)),
      this.#slider("noise_multiplier"),
    );
    const ways = this.#ways(keys.sampling);
    if (ways.length > 1) {
      this.root.append(this.#radios("batches", "Set batches by", ["batch_size", "sample_rate"], (way) => this.#way(way)));
    }
    for (const key of this.#chosen(ways, keys)) this.root.append(this.#slider(key));
    const counted = ways[0].length ? ["epochs", "steps"] : ["steps"];
    if (counted.length > 1) {
      this.root.append(this.#radios("length", "Set length by", counted, (way) => this.#length(way)));
    }
    this.root.append(this.#slider(counted.find((key) => key in keys) || "steps"));
    this.root.append(this.#slider("delta"), this.#relation(keys.adjacency || "add-or-remove"));
  }

  #ways(name) {
    return (this.facts.schemes.find((scheme) => scheme.name === name) || this.facts.schemes[0]).ways;
  }

  #chosen(ways, keys) {
    return ways.find((way) => way.length && way.every((key) => key in keys)) || ways[0];
  }

  /** Another sampling scheme, with the batches and the length of the keys that were last edited. */
  #scheme(name) {
    const { base, rounds } = this.plan;
    const chosen = this.#chosen(this.#ways(name), base);
    const keys = { ...base, sampling: name };
    const sizes = { ...this.#sizes(), ...base };
    for (const key of SIZES) delete keys[key];
    for (const key of chosen) keys[key] = sizes[key];
    if (!chosen.length && "epochs" in keys) {
      delete keys.epochs; // without sampling, there are no epochs
      keys.steps = String(rounds[base.sampling] ?? SOME_STEPS);
    }
    this.plan.keys = keys;
    this.#rebuilt("sampling");
    this.events.changed();
  }

  /** Change the keys as the user asked; those of batches belong together, and so do those of the length. */
  #edit(key, change) {
    const { plan } = this;
    plan.kept = { ...plan.kept, ...plan.base, ...plan.keys };
    change(plan.keys);
    const group = [SIZES, LENGTHS].find((keys) => keys.includes(key));
    for (const one of group ? [...group, "sampling"] : [key]) {
      if (one in plan.keys) plan.base[one] = plan.keys[one];
      else delete plan.base[one];
    }
    this.events.changed();
  }

  /** The keys of batches of every scheme, from those last edited. */
  #sizes() {
    const { batch_size, draws, dataset_size, sample_rate } = this.plan.base;
    const kept = { ...this.facts.example, ...this.plan.kept };
    const records = dataset_size ?? kept.dataset_size;
    const drawn = sample_rate === undefined ? undefined : String(Math.max(Math.round(roughly(sample_rate) * roughly(records)), 1));
    const batch = batch_size ?? draws ?? drawn ?? kept.batch_size;
    const spread = Math.sqrt(roughly(batch) * Math.max(1 - roughly(batch) / roughly(records), 0));
    const most = String(Math.ceil(roughly(batch) + ROOM * spread));
    return {
      batch_size: batch, draws: batch, dataset_size: records, sample_rate: sample_rate ?? `${batch}/${records}`,
      max_batch_size: Number.isFinite(spread) ? most : records, groups: kept.groups ?? GROUPS,
    };
  }

  #way(way) {
    this.#edit(way, (keys) => {
      if (way === "sample_rate") {
        keys.sample_rate = `${keys.batch_size}/${keys.dataset_size}`;
        delete keys.batch_size;
        delete keys.dataset_size;
      } else {
        delete keys.sample_rate;
        for (const key of ["batch_size", "dataset_size"]) keys[key] = this.plan.kept[key] ?? this.facts.example[key];
      }
    });
    this.#rebuilt("batches");
  }

  #length(way) {
    const { kept, rounds } = this.plan;
    this.#edit(way, (keys) => {
      if (way === "steps") {
        keys.steps = String(rounds[keys.sampling] ?? kept.steps ?? SOME_STEPS);
        delete keys.epochs;
      } else {
        keys.epochs = kept.epochs ?? this.facts.example.epochs;
        delete keys.steps;
      }
    });
    this.#rebuilt("length");
  }

  /** Rebuild the controls and keep the focus. */
  #rebuilt(name) {
    const focused = this.root.contains(document.activeElement);
    this.build();
    if (focused) this.root.querySelector(`[name="${this.id}-${name}"]:checked, select[name="${this.id}-${name}"]`)?.focus();
  }

  // -- given plans

  #givenFields(file) {
    const words = [`This plan has ${file.rounds === 1 ? "one kind of round" : `${file.rounds} kinds of rounds`}. `
      + "Each control changes every round that has the parameter; everything else stays as given."];
    if (!file.delta) words.push("The plan has no delta: choose one.");
    this.root.append(element("p", { className: "fixed", textContent: words.join(" ") }));
    for (const slider of file.sliders) this.root.append(this.#slider(slider.key, slider));
    this.root.append(this.#relation(file.adjacency));
    const back = this.button("Reset", () => {
      this.plan.keys = {};
      this.build();
      this.events.changed();
    });
    this.root.append(element("div", { className: "field" }, back));
  }

  // -- controls

  button(text, act, label = null) {
    const made = element("button", { type: "button", textContent: text });
    if (label) made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  }

  #slider(key, given = null) {
    const slider = given || this.facts.sliders.find((one) => one.key === key);
    const id = `${this.id}-${key}`;
    this.plan.keys[key] ??= given ? undefined : (this.facts.example[key] ?? String(slider.least));
    const own = this.plan.keys[key] ?? given?.value;
    if (this.plan.keys[key] === undefined) delete this.plan.keys[key];
    const label = element("label", { htmlFor: id, textContent: slider.label });
    const box = element("input", {
      type: "text", id, name: id, value: own, inputMode: "decimal", maxLength: 60, spellcheck: false,
    });
    const range = element("input", {
      type: "range", min: 0, max: TICKS, step: 1, attributes: { "aria-label": `${slider.label}, slider`, "data-key": key },
    });
    const place = () => {
      const value = roughly(box.value);
      const part = Math.log(value / slider.least) / Math.log(slider.most / slider.least);
      range.value = Number.isFinite(part) ? Math.round(TICKS * part) : 0;
      range.setAttribute("aria-valuetext", box.value);
    };
    const set = (text) => {
      box.removeAttribute("aria-invalid");
      this.#edit(key, (keys) => (keys[key] = text));
    };
    range.addEventListener("input", () => {
      box.value = written(slider, slider.least * (slider.most / slider.least) ** (range.value / TICKS));
      range.setAttribute("aria-valuetext", box.value);
      set(box.value);
    });
    box.addEventListener("input", () => {
      place();
      set(box.value.trim());
    });
    place();
    this.fields[key] = box;
    return element("div", { className: "field" }, element("div", { className: "field-head" }, label, box), range);
  }

  #select(key, label, options, act) {
    const id = `${this.id}-${key}`;
    const made = element("select", { id, name: id });
    const known = options.some(([value]) => value === this.plan.keys[key]);
    if (!known && this.plan.keys[key] !== undefined) options = [[this.plan.keys[key], this.plan.keys[key]], ...options];
    for (const [value, text] of options) made.append(element("option", { value, textContent: text }));
    made.value = this.plan.keys[key] ?? options[0][0];
    made.addEventListener("change", () => act(made.value));
    return element("div", { className: "field" }, element("label", { htmlFor: id, textContent: `${label} ` }), made);
  }

  #relation(own) {
    const options = this.facts.adjacencies.map((name) => [name, RELATIONS[name] || name]);
    const before = this.plan.keys.adjacency;
    this.plan.keys.adjacency ??= own;
    const made = this.#select("adjacency", "Adjacency", options, (value) => this.#edit("adjacency", (keys) => (keys.adjacency = value)));
    if (before === undefined) delete this.plan.keys.adjacency;
    return made;
  }

  #radios(key, legend, values, act) {
    const id = `${this.id}-${key}`;
    const group = element("fieldset", {}, element("legend", { textContent: legend }));
    for (const value of values) {
      const radio = element("input", { type: "radio", name: id, value, checked: value in this.plan.keys });
      radio.addEventListener("change", () => act(value));
      group.append(element("label", {}, radio, WAYS[value]));
    }
    return group;
  }

  #copies() {
    const said = element("p", { className: "said", attributes: { role: "status" } });
    const box = element("div", { className: "copies" }, element("span", { textContent: "Copy as" }));
    for (const [want, text] of [["toml", "plan file"], ["flags", "command"], ["python", "Python"], ["link", "link"]]) {
      const made = this.button(text, () => this.events.copy(want, said), `Copy plan ${this.name} as ${text}`);
      made.dataset.copy = want;
      if (want === "link") made.setAttribute("aria-label", "Copy a link to this page with both plans");
      if (want === "flags" && this.given) {
        made.disabled = true;
        made.title = "no flags describe this plan: copy it as a plan file";
      }
      box.append(made);
    }
    box.append(said);
    this.root.append(box);
  }

  /** Mark the field named at the start of an error. */
  refused(error) {
    for (const [key, box] of Object.entries(this.fields)) {
      if (error && error.startsWith(key)) box.setAttribute("aria-invalid", "true");
      else box.removeAttribute("aria-invalid");
    }
  }
}

/** The value of a slider as text, with the digits of the slider. */
function written(slider, value) {
  if (slider.whole) {
    const unit = 10 ** Math.max(Math.floor(Math.log10(value)) + 1 - slider.digits, 0);
    return String(Math.round(value / unit) * unit);
  }
  const bounded = Math.min(Math.max(value, slider.least), slider.most);
  return String(Number(bounded.toPrecision(slider.digits)));
}
