// Elements with text content: no string of a plan is ever parsed as markup.

/** An element with properties, attributes (in `attributes`) and children. */
export function element(name, properties = {}, ...children) {
  const { attributes = {}, ...others } = properties;
  const made = document.createElement(name);
  Object.assign(made, others);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}
