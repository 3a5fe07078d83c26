// Elements. Text is text: nothing that comes from the machine is ever read as markup.
import { DASH } from "./pure/figures.js";

// An element with attributes and children. Attributes that are null or false are left out; those that begin with "on" are listeners.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function button(text, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, text);
}

// A figure as text, or a dash with the reason for which it is not known: in the tooltip, and for those who listen.
export function figure(text, why = "") {
  if (text !== DASH) return text;
  const reason = why ? `not known: ${why}` : "not known";
  const dash = element("span", { "aria-hidden": "true" }, DASH);
  return element("span", { class: "missing", title: reason }, dash, element("span", { class: "unseen" }, reason));
}

// A table that scrolls by itself on narrow screens. Columns: { name, number }.
export function table(caption, columns, rows = []) {
  const head = columns.map(({ name, number }) => element("th", { scope: "col", class: number ? "number" : null }, name));
  const body = element("tbody", {}, rows);
  const made = element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, head)), body);
  const frame = element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" }, made);
  return { frame, body };
}

// A row whose first cell names it.
export function row(columns, cells) {
  const made = cells.map((cell, at) => {
    const attributes = { class: columns[at].number ? "number" : (columns[at].kind ?? null) };
    return at === 0 ? element("th", { scope: "row", ...attributes }, cell) : element("td", attributes, cell);
  });
  return element("tr", {}, made);
}

// Terms and their descriptions.
export function list(pairs) {
  const known = pairs.filter(Boolean);
  return element(
    "dl",
    {},
    known.map(([term, words]) => [element("dt", {}, term), element("dd", {}, words)]),
  );
}

// A heading that takes the focus when its view opens, so that a screen reader begins there.
export function heading(text) {
  return element("h1", { tabindex: "-1" }, text);
}

// A section with a heading of its own.
export function section(id, title, ...children) {
  return element("section", { "aria-labelledby": id }, element("h2", { id }, title), ...children);
}

// The same in a line, where there is no room for a list.
export const inShort = (missing) => (missing ?? []).map(({ fact, why }) => `${fact}: ${why}`).join("; ");

// What is not known, and why.
export function missingList(missing) {
  if (!missing?.length) return null;
  const made = liveMissingList();
  made.put(missing);
  return made.part;
}

// The same of what comes again and again: { part, put(missing) }. Its element stays, and with it whether it is open, and the focus.
export function liveMissingList() {
  const [summary, lines] = [element("summary"), element("ul")];
  const part = element("details", {}, summary, lines);
  part.hidden = true;
  return {
    part,
    put(missing) {
      const all = missing ?? [];
      part.hidden = all.length === 0;
      summary.textContent = `Not known (${all.length})`;
      lines.replaceChildren(...all.map(({ fact, why }) => element("li", {}, element("strong", {}, fact), ": ", why)));
    },
  };
}
