// The controls of one plan. They hold texts, as people write numbers; the sliders beside them move on logarithmic scales.

import { element } from "./dom.js";
import { roughly } from "./state.js";

const TICKS = 1000; // places of a slider
const RELATIONS = {
  "add-or-remove": "one record added or removed",
  add: "one record added",
  remove: "one record removed",
  "replace-one": "one record replaced",
  "zero-out": "one contribution set to nothing",
};
const SCHEMES = {
  poisson: "Poisson: a coin for each record",
  "random-allocation": "random allocation: once an epoch",
  "without-replacement": "fixed size, without replacement",
  shuffled: "shuffled batches",
  "with-replacement": "draws with replacement",
  "truncated-poisson": "Poisson, large batches cut",
  "cyclic-poisson": "Poisson within groups in turn",
  none: "none: every step sees all",
};
const SIZES = ["batch_size", "draws", "dataset_size", "sample_rate", "max_batch_size", "groups"];
const ROOM = 4; // standard deviations of a Poisson batch above its size, at which large ones are cut at first
const GROUPS = "4"; // that take turns at first
const WAYS = { batch_size: "size", sample_rate: "rate", epochs: "epochs", steps: "steps" };

export class Panel {
  /** `facts` is what the server said at the start; `changed` is called with the plan after every change. */
  constructor(name, plan, facts, events) {
    Object.assign(this, { name, plan, facts, events, fields: {}, rounds: null });
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
    const of = this.given ? file.name || "the given plan" : "";
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
    const ways = this.#ways();
    if (ways.length > 1) {
      this.root.append(this.#radios("batches", "Batches by", ["batch_size", "sample_rate"], (way) => this.#way(way)));
    }
    for (const key of this.#way_of(ways)) this.root.append(this.#slider(key));
    const counted = ways[0].length ? ["epochs", "steps"] : ["steps"];
    if (counted.length > 1) {
      this.root.append(this.#radios("length", "Length in", counted, (way) => this.#length(way)));
    }
    this.root.append(this.#slider(counted.find((key) => key in keys) || "steps"));
    this.root.append(this.#slider("delta"), this.#relation(keys.adjacency || "add-or-remove"));
  }

  #ways(name = this.plan.keys.sampling) {
    return (this.facts.schemes.find((scheme) => scheme.name === name) || this.facts.schemes[0]).ways;
  }

  #way_of(ways) {
    return ways.find((way) => way.length && way.every((key) => key in this.plan.keys)) || ways[0];
  }

  #scheme(name) {
    const keys = this.plan.keys;
    const ways = this.#ways(name);
    const now = ways.find((way) => way.length && way.every((key) => key in keys)) || ways[0];
    this.#keep();
    const sizes = this.#sizes();
    for (const key of SIZES) if (!now.includes(key)) delete keys[key];
    for (const key of now) keys[key] ??= sizes[key];
    if (!now.length && "epochs" in keys) {
      delete keys.epochs; // a pass has no length where every step sees all records
      keys.steps = String(this.rounds ?? 1000);
    }
    keys.sampling = name;
    this.#rebuilt("sampling");
  }

  /** All that schemes say of the size of a batch, as it is under the present one, as far as that says it. */
  #sizes() {
    const { batch_size, draws, dataset_size, sample_rate } = this.plan.keys;
    const kept = { ...this.facts.example, ...this.kept };
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

  #keep() {
    this.kept = { ...this.kept, ...this.plan.keys };
  }

  #way(way) {
    const keys = this.plan.keys;
    this.#keep();
    if (way === "sample_rate") {
      keys.sample_rate = `${keys.batch_size}/${keys.dataset_size}`;
      delete keys.batch_size;
      delete keys.dataset_size;
    } else {
      delete keys.sample_rate;
      for (const key of ["batch_size", "dataset_size"]) keys[key] = this.kept[key] ?? this.facts.example[key];
    }
    this.#rebuilt("batches");
  }

  #length(way) {
    const keys = this.plan.keys;
    this.#keep();
    if (way === "steps") {
      keys.steps = String(this.rounds ?? this.kept.steps ?? 1000);
      delete keys.epochs;
    } else {
      keys.epochs = this.kept.epochs ?? this.facts.example.epochs;
      delete keys.steps;
    }
    this.#rebuilt("length");
  }

  /** Make the controls anew, with the focus where it was. */
  #rebuilt(name) {
    const focused = this.root.contains(document.activeElement);
    this.build();
    if (focused) this.root.querySelector(`[name="${this.id}-${name}"]:checked, select[name="${this.id}-${name}"]`)?.focus();
    this.events.changed();
  }

  // -- plans that were given

  #givenFields(file) {
    const kinds = file.rounds === 1 ? "one kind of round" : `${file.rounds} kinds of rounds`;
    const words = [`A given plan of ${kinds}: what can be slid of it is here, in all rounds that have it; all else stays as it is.`];
    if (!file.delta) words.push("The plan names no delta: choose one.");
    this.root.append(element("p", { className: "fixed", textContent: words.join(" ") }));
    for (const slider of file.sliders) this.root.append(this.#slider(slider.key, slider));
    this.root.append(this.#relation(file.adjacency));
    const back = this.button("As it was given", () => {
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
      this.plan.keys[key] = text;
      box.removeAttribute("aria-invalid");
      this.events.changed();
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
    const made = this.#select("adjacency", "Neighbours differ in", options, (value) => {
      this.plan.keys.adjacency = value;
      this.events.changed();
    });
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
      if (want === "link") made.setAttribute("aria-label", "Copy a link that holds all of the page's state");
      if (want === "flags" && this.given) {
        made.disabled = true;
        made.title = "a given plan has no flags: copy it as a plan file";
      }
      box.append(made);
    }
    box.append(said);
    this.root.append(box);
  }

  /** Say which field an error is about, where it begins with the name of one. */
  refused(error) {
    for (const [key, box] of Object.entries(this.fields)) {
      if (error && error.startsWith(key)) box.setAttribute("aria-invalid", "true");
      else box.removeAttribute("aria-invalid");
    }
  }
}

/** The value of a slider as people write it, with the digits that the slider has. */
function written(slider, value) {
  if (slider.whole) {
    const unit = 10 ** Math.max(Math.floor(Math.log10(value)) + 1 - slider.digits, 0);
    return String(Math.round(value / unit) * unit);
  }
  const bounded = Math.min(Math.max(value, slider.least), slider.most);
  return String(Number(bounded.toPrecision(slider.digits)));
}
