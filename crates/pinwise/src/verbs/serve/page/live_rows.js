// Rows of a table that are filled again and again: a row keeps its element, so that focus and pointer stay where they are.
import { element } from "./dom.js";

// `cells` makes the contents of a row's cells from an item: the first one names the row. The order changes only while nobody is in
// the table.
export function liveRows(body, columns, keyOf, cells) {
  const rows = new Map();
  const make = () => {
    const made = columns.map(({ number, kind }, at) =>
      element(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, class: number ? "number" : (kind ?? null) }),
    );
    return element("tr", { tabindex: "-1" }, made);
  };
  body.addEventListener("keydown", (event) => byKey(body, event));
  return (items) => {
    const isHeld = body.contains(document.activeElement) || body.matches(":hover");
    const seen = new Set();
    for (const item of items) {
      const key = keyOf(item);
      seen.add(key);
      if (!rows.has(key)) {
        rows.set(key, make());
        body.append(rows.get(key));
      }
      const made = rows.get(key);
      cells(item).forEach((cell, at) => put(made.children[at], cell));
    }
    for (const [key, made] of rows) {
      if (seen.has(key) || made.contains(document.activeElement)) continue;
      made.remove();
      rows.delete(key);
    }
    const order = items.map((item) => rows.get(keyOf(item)));
    if (!isHeld && order.some((made, at) => body.children[at] !== made)) body.append(...order);
    if (!body.querySelector('tr[tabindex="0"]')) body.firstElementChild?.setAttribute("tabindex", "0");
  };
}

// Text is only written where it changed; an element that is there already stays.
function put(cell, content) {
  if (content instanceof Node) {
    if (cell.firstChild !== content) cell.replaceChildren(content);
  } else if (cell.childElementCount > 0 || cell.textContent !== content) {
    cell.textContent = content;
  }
}

// One row can be reached by Tab, the others from it by the arrow keys.
function byKey(body, event) {
  const row = event.target.closest("tr");
  const rows = [...body.children];
  const to = { ArrowDown: rows.indexOf(row) + 1, ArrowUp: rows.indexOf(row) - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (to === undefined || !rows[to]) return;
  event.preventDefault();
  for (const one of rows) one.setAttribute("tabindex", "-1");
  rows[to].setAttribute("tabindex", "0");
  rows[to].focus();
}
