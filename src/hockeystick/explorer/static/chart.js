// One figure with the curves of both plans. Plots use the numbers of an answer; the text below them is what the server
// rounded outward. This file rounds no answer. While a curve is late, its text says so in place of old numbers.

import { element } from "./dom.js";

const HEIGHT = 230;
const PATIENCE = 600; // milliseconds after which a figure shows for how long it has been computing
const LEAST = 1e-300; // smallest value on a logarithmic axis: doubles below it lose digits
export const COMPUTING = "computing …";
const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The label of a tick. */
function tick(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e5)) {
    const power = Math.round(Math.log10(size));
    if (Math.abs(size / 10 ** power - 1) < 1e-6) {
      return `10${power < 0 ? "⁻" : ""}${[...String(Math.abs(power))].map((digit) => POWERS[digit]).join("")}`;
    }
    return value.toExponential(0);
  }
  return String(Number(value.toPrecision(6)));
}

/** Ticks of a logarithmic axis: one to nine in every decade, or only the powers of ten where there are many. */
function places(low, high) {
  const from = Math.floor(Math.log10(low) + 1e-9);
  const to = Math.ceil(Math.log10(high) - 1e-9);
  const digits = to - from > 8 ? [1] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const found = [];
  for (let power = from; power <= to; power += 1) {
    for (const digit of digits) {
      const value = Number(`${digit}e${power}`);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) found.push(value);
    }
  }
  return found;
}

export class Chart {
  /** `axes` has a label for x and y, and whether they are logarithmic; `reading` makes a line from the texts of a point. */
  constructor(want, title, axes, reading, hint, extra = null) {
    Object.assign(this, { want, axes, reading, curves: {}, marks: {}, level: null, plot: null, at: null, late: new Set() });
    const id = `figure-${want}`;
    this.box = element("div", { className: "plot", tabIndex: 0, attributes: { role: "img", "aria-label": title } });
    this.lines = element("div", { className: "reading" });
    this.doing = element("p", { className: "doing", hidden: true });
    this.table = element("div", { className: "table" });
    const details = element("details", {}, element("summary", { textContent: "Numbers" }), this.table);
    details.addEventListener("toggle", () => details.open && this.#tabulate());
    this.details = details;
    this.title = title;
    this.root = element(
      "section",
      { className: "figure", id, attributes: { "aria-label": title } },
      element("div", { className: "figure-head" }, element("h3", { textContent: title }), extra),
      this.box,
      this.doing,
      this.lines,
      element("p", { className: "hint", textContent: hint }),
      details,
    );
    this.box.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#resize()).observe(this.box);
  }

  /** Show the curve of a plan, an error, or nothing; a stale curve is drawn, but its numbers are not shown. */
  set(name, curve, stale = false) {
    if (curve) this.curves[name] = curve;
    else delete this.curves[name];
    if (!stale) this.late.delete(name);
    this.#dim();
    this.draw();
  }

  /** The curve of a plan is not yet that of the number above. */
  waits(name) {
    this.late.add(name);
    this.#dim();
    this.#read();
    this.plot?.redraw(false);
    if (this.details.open) this.#tabulate();
  }

  #dim() {
    const late = this.late.size > 0;
    this.root.classList.toggle("waits", late);
    if (late) {
      this.since ??= performance.now();
      this.ticking ??= setInterval(() => this.#say(), 200);
    } else {
      clearInterval(this.ticking);
      this.since = this.ticking = null;
    }
    this.#say();
  }

  /** A slow figure shows for how many seconds it has been computing. */
  #say() {
    const waited = this.since ? performance.now() - this.since : 0;
    this.doing.hidden = waited < PATIENCE;
    this.doing.textContent = this.doing.hidden ? "" : `computing, ${(waited / 1000).toFixed(0)} s`;
  }

  #table(name) {
    const curve = this.curves[name];
    if (!curve?.x?.length) return null;
    const shown = (values, log) => values.map((value) => (value === null || (log && value < LEAST) ? null : value));
    const x = curve.x;
    if (this.axes.x.log && x.some((value) => value <= 0)) return null;
    return [x, shown(curve.upper, this.axes.y.log), shown(curve.lower, this.axes.y.log)];
  }

  draw() {
    const names = ["A", "B"].filter((name) => this.#table(name));
    const key = JSON.stringify([names, names.map((name) => this.curves[name].label)]);
    if (!names.length) {
      this.plot?.destroy();
      this.plot = null;
    } else {
      const data = uPlot.join(names.map((name) => this.#table(name)), names.map(() => [[], [3, 3, 3], [3, 3, 3]].map(() => [0, 0, 0])));
      if (!this.plot || this.key !== key) this.#make(names, data);
      else this.plot.setData(data);
    }
    this.key = key;
    this.#read();
    if (this.details.open) this.#tabulate();
  }

  #make(names, data) {
    this.plot?.destroy();
    this.box.replaceChildren();
    const series = [{}];
    const bands = [];
    for (const name of names) {
      const colour = css(`--${name.toLowerCase()}`);
      const dash = name === "B" ? [7, 4] : undefined;
      series.push({ stroke: colour, width: 2, dash, spanGaps: true, points: { show: false } });
      series.push({ stroke: colour, width: 0.75, dash, spanGaps: true, points: { show: false } });
      bands.push({ series: [series.length - 2, series.length - 1], fill: css(`--${name.toLowerCase()}-band`) });
    }
    const ink = css("--soft");
    const axis = (side, extra) => ({
      stroke: ink, grid: { stroke: css("--grid"), width: 1, filter: this.#ticks(side, 0) },
      ticks: { stroke: css("--line"), width: 1, size: 4, filter: this.#ticks(side, 0) }, filter: this.#ticks(side, 1),
      ...(this.axes[side].log ? { splits: (plot, index, low, high) => places(low, high) } : {}), font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif", label: this.axes[side].label(this), labelSize: 18,
      values: (plot, values) => values.map((value) => tick(value)), ...extra,
    });
    const scale = (side) => ({
      time: false, distr: this.axes[side].log ? 3 : 1,
      range: this.axes[side].range || ((plot, low, high) => this.#range(side, low, high)),
    });
    const options = {
      width: Math.max(this.box.clientWidth, 200), height: HEIGHT, series, bands, legend: { show: false },
      scales: { x: scale("x"), y: scale("y") },
      axes: [axis("x", { size: 34, space: 46 }), axis("y", { size: 50, space: 28 })],
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      padding: [10, 22, 0, 0],
      hooks: {
        setCursor: [(plot) => this.#cursor(plot)],
        draw: [(plot) => this.#marks(plot)],
      },
    };
    this.plot = new uPlot(options, data, this.box);
  }

  /** The ticks of a logarithmic axis with a line (0) or a number (1): powers of ten, and others where these are few. */
  #ticks(side, numbered) {
    if (!this.axes[side].log) return (plot, splits) => splits;
    return (plot, splits) => {
      const { min, max } = plot.scales[side];
      const decades = Math.log10(max / min);
      const pixels = (side === "x" ? plot.bbox.width : plot.bbox.height) / devicePixelRatio / decades;
      const every = numbered ? Math.max(Math.ceil((side === "x" ? 44 : 20) / pixels), 1) : Math.max(Math.ceil(8 / pixels), 1);
      const between = numbered ? (pixels > 130 ? [1, 2, 5] : pixels > 80 && decades < 2 ? [1, 3] : [1]) : pixels > 90 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : [1];
      return splits.map((value) => {
        const power = Math.floor(Math.log10(value) + 1e-9);
        return between.includes(Math.round(value / 10 ** power)) && power % every === 0 ? value : null;
      });
    };
  }

  #range(side, low, high) {
    if (low === null || high === null) return this.axes[side].log ? [1e-3, 1] : [0, 1];
    if (!this.axes[side].log) return side === "x" ? [low, high > low ? high : low + 1] : [0, high > 0 ? high * 1.08 : 1];
    if (side === "x") return [low, high > low ? high : 10 * low];
    // the axis begins at the upper ends: a lower end may be next to zero
    const uppers = Object.values(this.curves).flatMap((curve) => curve.upper || []).filter((value) => value >= LEAST);
    const bottom = 10 ** Math.floor(Math.log10(uppers.length ? Math.min(...uppers) : low) + 1e-9);
    const top = 10 ** Math.ceil(Math.log10(high) - 1e-9);
    return [bottom, top > bottom ? top : 10 * bottom];
  }

  #resize() {
    const width = this.box.clientWidth;
    if (this.plot && width && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  /** Draw again after the system switched between light and dark. */
  repaint() {
    this.key = null;
    this.draw();
  }

  #marks(plot) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.setLineDash([]); // that of the last curve is still set
    ctx.beginPath();
    ctx.rect(bbox.left - 8, bbox.top - 8, bbox.width + 16, bbox.height + 16);
    ctx.clip();
    const inside = (value, side) => {
      const { min, max } = plot.scales[side];
      return value !== null && value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9);
    };
    if (this.axes.guess && inside(1e-4, "x")) {
      this.#line(plot, [[plot.scales.x.min, plot.scales.x.min], [1, 1]], css("--soft"), [3 * ratio, 4 * ratio]);
    }
    if (this.level !== null && inside(this.level, "y")) {
      const { min, max } = plot.scales.x;
      this.#line(plot, [[min, this.level], [max, this.level]], css("--soft"), [3 * ratio, 4 * ratio]);
    }
    for (const [name, mark] of Object.entries(this.marks)) {
      if (!mark || !this.curves[name] || this.late.has(name) || !inside(mark[0], "x") || !inside(mark[1], "y")) continue;
      ctx.beginPath();
      ctx.arc(plot.valToPos(mark[0], "x", true), plot.valToPos(mark[1], "y", true), 5 * ratio, 0, 2 * Math.PI);
      ctx.fillStyle = css(`--${name.toLowerCase()}`);
      ctx.strokeStyle = css("--card");
      ctx.lineWidth = 2 * ratio;
      ctx.fill();
      ctx.stroke();
    }
    ctx.restore();
  }

  #line(plot, places, colour, dash) {
    const { ctx } = plot;
    ctx.beginPath();
    for (const [x, y] of places) ctx.lineTo(plot.valToPos(x, "x", true), plot.valToPos(y, "y", true));
    ctx.strokeStyle = colour;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash(dash);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  /** Put a dot on the curve of a plan; null removes it. */
  mark(name, place) {
    this.marks[name] = place;
    this.plot?.redraw(false);
  }

  setLevel(level) {
    this.level = level;
    this.plot?.redraw(false);
  }

  #cursor(plot) {
    const { idx } = plot.cursor;
    const at = idx === null || idx === undefined ? null : plot.data[0][idx];
    if (at === this.at) return;
    this.at = at;
    this.#read();
  }

  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !this.plot) return;
    event.preventDefault();
    const places = this.plot.data[0];
    const now = this.at === null ? (step > 0 ? -1 : places.length) : places.indexOf(this.at);
    const next = Math.min(Math.max(now + step, 0), places.length - 1);
    this.plot.setCursor({ left: this.plot.valToPos(places[next], "x"), top: 10 });
  }

  /** Show the texts at the cursor, or at the first point of interest. */
  #read() {
    this.lines.replaceChildren();
    const said = [];
    for (const name of ["A", "B"]) {
      const curve = this.curves[name];
      const late = this.late.has(name);
      if (!curve && !late) continue;
      const row = element("div", { className: `of-${name.toLowerCase()}`, attributes: { "data-plan": name } });
      if (late) row.append(COMPUTING);
      else if (curve.error) row.append(element("span", { className: "refused", textContent: curve.error }));
      else if (!curve.x.length) row.append("no curve: there is only one point");
      else {
        const at = this.at ?? this.axes.x.first?.(name, curve) ?? curve.x[curve.x.length - 1];
        const nearest = curve.x.reduce((best, x, index) => (this.#far(x, at) < this.#far(curve.x[best], at) ? index : best), 0);
        row.append(this.reading(curve.text[nearest], curve));
      }
      this.lines.append(row);
      said.push(`plan ${name}: ${row.textContent}`);
    }
    this.box.setAttribute("aria-label", `${this.title}. ${said.join("; ")}. Use the left and right arrow keys to read other points.`);
  }

  #far(x, at) {
    return this.axes.x.log ? Math.abs(Math.log(x / at)) : Math.abs(x - at);
  }

  #tabulate() {
    this.table.replaceChildren();
    for (const name of ["A", "B"]) {
      const curve = this.curves[name];
      if (this.late.has(name)) this.table.append(element("p", { textContent: `Plan ${name}: ${COMPUTING}` }));
      if (!curve?.x?.length || this.late.has(name)) continue;
      const heads = [this.axes.x.label(this), "at least", "at most"];
      const head = element("tr", {}, ...heads.map((text) => element("th", { textContent: text, attributes: { scope: "col" } })));
      const rows = curve.text.map(([x, lower, upper]) =>
        element("tr", {}, element("th", { textContent: x, attributes: { scope: "row" } }),
          element("td", { textContent: lower ?? "–" }), element("td", { textContent: upper ?? "infinite" })));
      this.table.append(element("table", {}, element("caption", { textContent: `Plan ${name}` }),
        element("thead", {}, head), element("tbody", {}, ...rows)));
    }
  }
}
