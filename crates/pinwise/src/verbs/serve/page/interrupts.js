// The lines that interrupt most, second by second, and on which CPUs.
import { button, element, figure, inShort, table } from "./dom.js";
import { DASH, grouped, perSecond } from "./pure/figures.js";
import { busiestOf, totalOf } from "./pure/heat.js";
import { liveRows } from "./live_rows.js";

const COLUMNS = [{ name: "Line" }, { name: "In all", number: true }, { name: "By CPU", kind: "wide" }];

// CPUs that a row names; the others are counted.
const NAMED = 4;

// { part, put(event) }; `mark` gets the CPUs of the line that is chosen.
export function interruptTable(mark) {
  const { frame, body } = table("Lines with most interrupts in the last second", COLUMNS);
  const note = element("p", { class: "waiting" }, "Waiting for the first second.");
  const names = new Map();
  const lines = new Map();
  let chosen = null;
  const keyOf = ({ id, name }) => `${id} ${name ?? ""}`.trim();
  const cpusOf = (key) => new Set(lines.has(key) ? lines.get(key).map(({ cpu }) => cpu) : []);
  const choose = (key) => {
    chosen = chosen === key ? null : key;
    for (const [own, name] of names) name.setAttribute("aria-pressed", String(own === chosen));
    mark(cpusOf(chosen));
  };
  const nameOf = (key) => {
    if (!names.has(key)) {
      const title = "Marks the CPUs that it interrupts in the picture";
      names.set(
        key,
        button(key, () => choose(key), { "aria-pressed": "false", title, class: "plain" }),
      );
    }
    return names.get(key);
  };
  const put = liveRows(body, COLUMNS, keyOf, (line) => [
    nameOf(keyOf(line)),
    figure(perSecond(totalOf(line.per_s)), "the kernel does not report how often it came"),
    figure(onCpus(lines.get(keyOf(line))), "the kernel does not report where it came"),
  ]);
  frame.hidden = true;
  return {
    part: [note, frame],
    put({ lines: now, cpus, missing }) {
      if (!Array.isArray(now)) {
        frame.hidden = true;
        note.textContent = `Which lines interrupt is not known. ${inShort(missing)}`;
        return;
      }
      lines.clear();
      for (const line of now) lines.set(keyOf(line), busiestOf(line.per_s, cpus));
      note.textContent = now.length
        ? "Choose a line to mark its CPUs in the picture."
        : "No line interrupted in the last second.";
      frame.hidden = now.length === 0;
      put(now);
      if (chosen !== null) mark(cpusOf(chosen));
    },
  };
}

function onCpus(rates) {
  const named = rates.slice(0, NAMED).map(({ cpu, rate }) => `CPU ${cpu}: ${perSecond(rate)}`);
  const rest = rates.length - named.length;
  return [...named, rest > 0 && `${grouped(rest)} more`].filter(Boolean).join(", ") || DASH;
}
