// The list of cases as it is shown: running studies first, and what has been chosen. Pure.
import { counted, DASH, grouped } from "./figures.js";

// Running studies first, otherwise in the server's order, which is the newest first.
export const inOrder = (cases) => [...cases].sort((a, b) => Number(b.running === true) - Number(a.running === true));

// Done of planned as a share for a bar; null where it is not known how many there will be.
export function progressOf(blocks) {
  const { done, planned } = blocks ?? {};
  if (typeof done !== "number" || typeof planned !== "number" || planned <= 0) return null;
  return Math.min(done / planned, 1);
}

export function progressWords(blocks) {
  const { done, planned } = blocks ?? {};
  if (typeof done !== "number") return DASH;
  return typeof planned === "number" ? `${grouped(done)} of ${counted(planned, "block")}` : counted(done, "block");
}

export function stateWords({ running, finished, fault }) {
  if (fault) return "cannot be read";
  if (running) return "running";
  if (typeof finished !== "boolean") return "not read yet";
  return finished ? "finished" : "not finished";
}

// The ids chosen after one was clicked, in the order of choosing: the first is the one that others are set beside.
export const toggled = (chosen, id) => (chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);

// Those of the chosen that are still there.
export const stillThere = (chosen, cases) => chosen.filter((id) => cases.some((one) => one.id === id && !one.fault));

// How long to wait before the list is asked for again, ms: sooner while something runs, or is still to be read.
export function pollAfter(cases, isWhole = true) {
  if (!isWhole) return 1000;
  return cases.some(({ running }) => running) ? 5000 : 30000;
}

// Cases that the server compares at once.
export const MOST_COMPARED = 16;

// What choosing comes to: { canCompare, words }.
export function choiceOf(chosen) {
  if (chosen.length < 2) return { canCompare: false, words: "Choose two cases or more." };
  if (chosen.length > MOST_COMPARED)
    return { canCompare: false, words: `${chosen.length} are chosen, and at most ${MOST_COMPARED} can be compared.` };
  return { canCompare: true, words: chosen.join(", ") };
}

// The name of a case: the folder that is served may be one itself.
export const nameOf = (id) => (id === "./" || id === "" ? "this folder" : id);

// What is said when the state of studies has changed between two lists; empty where there is nothing to say.
export function news(before, now) {
  const was = new Map(before.map((one) => [one.id, one]));
  const ended = now.filter((one) => was.get(one.id)?.running && !one.running).map(({ id }) => `${id} has ended.`);
  const begun = now.filter((one) => one.running && was.has(one.id) && !was.get(one.id).running).map(({ id }) => `${id} runs.`);
  return [...ended, ...begun].join(" ");
}
