// Tables that are sorted by a click on a head, and filtered by words.
const FILTER_FROM = 6;
const UNKNOWN = new Set(["", "-", "n/a", "not known"]);
const SUFFIXES = { k: 1e3, M: 1e6, G: 1e9 };

// The number that a cell begins with; undefined where there is none.
function cellNumber(text) {
  const found = /^([+-]?\d[\d,]*(?:\.\d+)?)([kMG]\b)?/.exec(text.trim());
  return found ? Number(found[1].replaceAll(",", "")) * (SUFFIXES[found[2]] || 1) : undefined;
}

// Order of two cells: numbers by size, words as people sort them.
function compareCells(a, b, isNumber) {
  if (isNumber) {
    const [x, y] = [cellNumber(a), cellNumber(b)];
    if (x !== undefined && y !== undefined) return x - y;
    if (x !== undefined || y !== undefined) return x === undefined ? 1 : -1;
  }
  return a.localeCompare(b, "en", { numeric: true });
}

// The places of the cells in order. What is not known comes last, whichever the direction.
function sortedPlaces(texts, isNumber, isDescending) {
  const isUnknown = (text) => UNKNOWN.has(text.trim());
  const places = texts.map((_, i) => i);
  return places.sort((a, b) => {
    const last = Number(isUnknown(texts[a])) - Number(isUnknown(texts[b]));
    return last || compareCells(texts[a], texts[b], isNumber) * (isDescending ? -1 : 1) || a - b;
  });
}

// A click sorts up, another one down, the third puts the rows back.
function makeSortable(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const sort = button("", { class: "sort" }, () => {
      const next = { ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")] || "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (next !== "none") head.setAttribute("aria-sort", next);
      const texts = rows.map((row) => row.cells[column].textContent);
      const isNumber = head.classList.contains("number");
      const order = next === "none" ? rows.keys() : sortedPlaces(texts, isNumber, next === "descending");
      body.append(...[...order].map((place) => rows[place]));
    });
    if (!head.textContent) sort.setAttribute("aria-label", `column ${column + 1}`);
    sort.append(...head.childNodes);
    head.append(sort);
  });
  if (rows.length >= FILTER_FROM) table.parentElement.before(filterOf(rows));
}

function filterOf(rows) {
  const input = element("input", { type: "search", class: "filter", placeholder: "Filter rows", "aria-label": "Filter rows" });
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = [...row.cells].map((cell) => cell.textContent.toLowerCase()).join(" ");
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  return input;
}
