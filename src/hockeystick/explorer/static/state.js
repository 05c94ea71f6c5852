// The state of the page, and how it stands in a link: behind the #, which is sent to no server.

const NAMES = { a: "A", b: "B" };

/** The state that a fragment holds, or null where it holds none. */
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

/** The fragment that holds a state. */
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

/** A plan as the server is asked about it. */
export function asked(plan) {
  return plan.given ? { given: plan.given, moved: plan.keys } : { keys: plan.keys };
}

/** A number of which only the place on a slider is wanted, from what people write. */
export function roughly(text) {
  const found = /^\s*([\d_.eE+-]+)\s*(?:\/\s*([\d_.eE+-]+)|(%))?\s*$/.exec(String(text));
  if (!found) return NaN;
  const number = Number(found[1].replaceAll("_", ""));
  return found[2] ? number / Number(found[2].replaceAll("_", "")) : found[3] ? number / 100 : number;
}
