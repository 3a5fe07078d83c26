// The view of the cases: search, running studies first, two or more to compare.
import { routeTo } from "./pure/address.js";
import { get } from "./api.js";
import {
  choiceOf,
  inOrder,
  nameOf,
  news,
  pollAfter,
  progressOf,
  progressWords,
  stateWords,
  stillThere,
  toggled,
} from "./pure/case_list.js";
import { button, element, figure, heading, row, table } from "./dom.js";
import { ago, counted, DASH } from "./pure/figures.js";
import { fill, problemBox } from "./notice.js";
import { ofFault } from "./pure/problem.js";

const COLUMNS = [
  { name: "Case (tick to compare)" },
  { name: "State" },
  { name: "Answer", kind: "wide" },
  { name: "Server" },
  { name: "Server's host" },
  { name: "Trials", number: true },
  { name: "Changed" },
];

// Typing rests for so long before it is searched for, ms.
const REST_MS = 300;

export function show(main, session) {
  const view = { chosen: [], cases: [], timer: 0, abort: null, ended: false };
  const place = element("div");
  const live = element("p", { class: "unseen", "aria-live": "polite" });
  const compare = button("Compare", () => (location.hash = routeTo("compare", view.chosen)), { disabled: true });
  const note = element("span", { class: "hint" }, "Choose two cases or more.");
  const chosen = () => {
    const { canCompare, words } = choiceOf(view.chosen);
    compare.disabled = !canCompare;
    note.textContent = words;
  };
  const input = element("input", { id: "search", type: "search", autocomplete: "off", spellcheck: "false", maxlength: "256" });
  const again = () => load(view, input.value.trim(), place, live, chosen);
  let rest = 0;
  input.addEventListener("input", () => {
    clearTimeout(rest);
    rest = setTimeout(again, REST_MS);
  });
  const tools = element(
    "form",
    { class: "ask", role: "search", onsubmit: (event) => event.preventDefault() },
    element("label", { for: "search" }, "Search by folder, server or host"),
    input,
    compare,
    note,
  );
  main.replaceChildren(
    heading("Cases"),
    element("p", { class: "hint" }, `Those in ${session.dir ?? "the folder that is served"}.`),
    tools,
    live,
    place,
  );
  again();
  return () => {
    view.ended = true;
    clearTimeout(rest);
    clearTimeout(view.timer);
    view.abort?.abort();
  };
}

async function load(view, query, place, live, chosen) {
  clearTimeout(view.timer);
  view.abort?.abort();
  view.abort = new AbortController();
  const { signal } = view.abort;
  await fill(
    place,
    "the cases",
    () => get(`/api/cases?q=${encodeURIComponent(query)}`, "the list of cases", signal),
    (answer) => {
      const cases = inOrder(answer.cases ?? []);
      const said = news(view.cases, cases);
      if (said) live.textContent = said;
      [view.cases, view.isWhole, view.isSearched] = [cases, answer.whole !== false, answer.searched !== false];
      view.chosen = query ? view.chosen : stillThere(view.chosen, cases);
      chosen();
      return draw(view, answer.left_out ?? 0, query, chosen, place);
    },
  );
  if (view.ended || signal.aborted) return;
  view.timer = setTimeout(
    () => load(view, query, place, live, chosen),
    document.hidden ? 60000 : pollAfter(view.cases, view.isWhole),
  );
}

function draw(view, leftOut, query, chosen, place) {
  const reading = view.isWhole === false ? element("p", { class: "hint" }, "Some are still being read.") : null;
  const words = "Folders that cannot be read, and those beyond the first 50,000 names, were not searched.";
  const unsearched = view.isSearched === false ? element("p", { class: "hint" }, words) : null;
  if (view.cases.length === 0 && reading) return [reading, unsearched];
  if (view.cases.length === 0) {
    const none = query ? "No case matches." : "There is no case here yet. A study makes one: pinwise study -o CASE";
    return [element("p", {}, none), unsearched];
  }
  const { frame, body } = table(counted(view.cases.length, "case"), COLUMNS);
  body.append(...view.cases.map((one) => row(COLUMNS, cells(one, view, chosen))));
  const how = query ? "they were searched by their path alone, or are too many to list." : "search for what they are called.";
  const more = leftOut > 0 ? element("p", { class: "hint" }, `${counted(leftOut, "more case")}: ${how}`) : null;
  keepPlace(place, frame);
  return [frame, more, reading, unsearched];
}

// A list that is drawn again while somebody works in it: the focus goes to the same control of the same case.
function keepPlace(place, frame) {
  const held = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const left = place.querySelector(".scroll")?.scrollLeft;
  queueMicrotask(() => {
    if (left) frame.scrollLeft = left;
    if (held) [...frame.querySelectorAll("[data-key]")].find((one) => one.dataset.key === held)?.focus();
  });
}

function cells(one, view, chosen) {
  const name = element("a", { href: routeTo("case", [one.id]), "data-key": `open ${one.id}` }, nameOf(one.id));
  const check = element("input", {
    type: "checkbox",
    "aria-label": `Compare ${one.id}`,
    "data-key": `choose ${one.id}`,
    disabled: Boolean(one.fault),
    onchange: () => {
      view.chosen = toggled(view.chosen, one.id);
      chosen();
    },
  });
  check.checked = view.chosen.includes(one.id);
  const changed = typeof one.modified_s === "number" ? ago(Date.now() / 1000 - one.modified_s) : DASH;
  return [
    element("span", { class: "ticked" }, check, name),
    state(one),
    one.fault ? problemBox(ofFault(one.fault, one.id)) : one.headline || figure(DASH, "it has not been read yet"),
    one.server || figure(DASH, "the case has not been read, or does not say"),
    one.host || (one.trials === null || one.fault ? figure(DASH, "the case has not been read") : "the study's own"),
    typeof one.trials === "number" ? String(one.trials) : figure(DASH, "they have not been read"),
    figure(changed, "the time of the folder cannot be read"),
  ];
}

function state(one) {
  const part = progressOf(one.blocks);
  const words = element("span", { class: `tag ${one.running ? "running" : ""}` }, stateWords(one));
  const blocks = one.fault
    ? null
    : element("span", { class: "hint" }, figure(progressWords(one.blocks), "the case has not been read"));
  const bar =
    one.running && part !== null ? element("progress", { max: "1", value: part, "aria-label": `Progress of ${one.id}` }) : null;
  return element("span", { class: "state" }, words, blocks, bar);
}
