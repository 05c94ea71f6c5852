// The state of the page, and its form in a link: after the #, which browsers do not send to a server.

const NAMES = { a: "A", b: "B" };

/** The state in a fragment, or null. */
export function read(fragment) {
  const plans = { A: null, B: null };
  let target = null;
  for (const [key, value] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (key === "target") target = value;
    const [, side, name] = /^([ab])\.(\w+)$/.exec(key) || [];
    if (!side) continue;
    const plan = (plans[NAMES[side]] ||= { given: null, keys: {} });
    if (name === "given") plan.given = value;
    else plan.keys[name] = value;
  }
  return plans.A ? { plans, target } : null;
}

/** The fragment of a state. */
export function written(state) {
  const found = new URLSearchParams();
  for (const [side, name] of Object.entries(NAMES)) {
    const plan = state.plans[name];
    if (!plan) continue;
    if (plan.given) found.append(`${side}.given`, plan.given);
    for (const [key, value] of Object.entries(plan.keys)) found.append(`${side}.${key}`, value);
  }
  found.append("target", state.target);
  return `#${found}`;
}

/** A copy of a plan in the form of a question. */
export function asked(plan) {
  const keys = { ...plan.keys };
  return plan.given ? { given: plan.given, moved: keys } : { keys };
}

/** The approximate value of a number as people write it, good enough for a slider; NaN for other text. */
export function roughly(text) {
  const found = /^\s*([\d_.eE+-]+)\s*(?:\/\s*([\d_.eE+-]+)|(%))?\s*$/.exec(String(text));
  if (!found) return NaN;
  const number = Number(found[1].replaceAll("_", ""));
  return found[2] ? number / Number(found[2].replaceAll("_", "")) : found[3] ? number / 100 : number;
}
