// Who had the CPUs in the last seconds: tasks, threads of the kernel, interrupts.
import { element, figure, liveMissingList, table } from "./dom.js";
import { DASH, duration, ranges, share, words } from "./pure/figures.js";
import { liveRows } from "./live_rows.js";
import { problemBox } from "./notice.js";
import { hindrances, ofFault } from "./pure/problem.js";

const COLUMNS = [
  { name: "Who" },
  { name: "Kind" },
  { name: "Share of all CPUs", number: true },
  { name: "Longest at a time", number: true },
  { name: "On CPUs", kind: "wide" },
];

// Rows that are shown.
const MOST = 20;

// { part, put(event) }.
export function takerTable() {
  const { frame, body } = table("Who had the CPUs, most first", COLUMNS);
  const note = element("p", { class: "waiting" }, "Waiting for the first window.");
  const why = element("div");
  const gaps = liveMissingList();
  let failed = "";
  const put = liveRows(
    body,
    COLUMNS,
    ({ kind, name, cpus }) => `${kind} ${name} ${ranges(cpus)}`,
    (taker) => [
      taker.name,
      words(taker.kind),
      figure(share(taker.share), "it was not counted"),
      figure(longest(taker), "it is not distinguished for this one"),
      figure(ranges(taker.cpus), "it is not distinguished for this one"),
    ],
  );
  frame.hidden = true;
  return {
    part: [note, frame, why, gaps.part],
    put({ takers, window_s: windowS, missing, fault, error }) {
      const said = fault ?? error;
      const known = Array.isArray(takers);
      frame.hidden = !known || takers.length === 0;
      note.textContent = known ? noteOf(takers, windowS) : "Who had the CPUs is not known.";
      if (known) put(takers.slice(0, MOST));
      // The same reason comes every five seconds, and is spoken once.
      const key = JSON.stringify([known, said, missing]);
      if (key === failed) return;
      failed = key;
      const reasons = known ? [] : hindrances(missing);
      const lines = reasons.map((gap) => element("p", {}, figure(DASH, gap.why), ` ${gap.fact}: ${gap.why}`));
      why.replaceChildren(...[said && problemBox(ofFault(said, "who had the CPUs")), ...lines].filter(Boolean));
      gaps.put(known ? missing : []);
    },
  };
}

function noteOf(takers, windowS) {
  const window = typeof windowS === "number" ? `${windowS.toFixed(1)} s` : "the last window";
  return takers?.length ? `In ${window}; a new window every 5 s.` : `Nobody had a CPU in ${window}.`;
}

function longest(taker) {
  const bound = taker.longest_at_most_ns;
  return typeof bound === "number" ? `at most ${duration(bound)}` : duration(taker.longest_ns);
}
