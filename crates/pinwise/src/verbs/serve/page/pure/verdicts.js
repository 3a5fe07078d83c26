// Typed answers of pinwise as words of this page. Pure.
import { rounded, words } from "./figures.js";

export const LIMITS = {
  stopped: "it is stopped",
  quota: "the limit is its CPU quota",
  cpu: "the limit is CPU: it waits for one",
  memory: "the limit is memory",
  blocked: "the limit is waiting in the kernel",
  lock: "the limit is a lock of its own",
  one_thread: "the limit is one thread, busy with the server's own work",
  own_work: "the limit is its own work: its CPUs are full of it",
  load: "it is not the limit: it waits for requests",
  unknown: "which limit holds is not known",
};

// A verdict with the margin that it is about.
export function verdictWords(verdict, margin) {
  if (verdict === "equal" && typeof margin === "number") return `equal within ${rounded(Math.round(margin * 1e4) / 100)} %`;
  return words(verdict);
}

// The class that colours a verdict.
export const verdictClass = (verdict) => ({ better: "fast", worse: "slow" })[verdict] ?? "neutral";

// `hasControl` says whether the baseline was held against itself, where that is known.
export function trustWords(trust, hasControl = undefined) {
  if (trust?.is === "sound" && hasControl === false) return "The baseline was not held against itself: there is no A/A control.";
  if (trust?.is === "sound")
    return hasControl ? "The baseline did not differ from itself." : "The baseline was not seen to differ from itself.";
  if (trust?.is === "untrustworthy")
    return `No claim can be made: the baseline differed from itself by a factor of ${rounded(trust.ratio)}.`;
  if (trust?.is === "too-few")
    return `No claim can be made yet: there are ${trust.blocks} complete blocks, and one takes ${trust.needed}.`;
  return "Whether claims can be made is not known.";
}

// What an undo did with an act.
const UNDONE = {
  restored: "restored",
  already: "was so already",
  gone: "gone, and the change with it",
  expired: "gone with the last boot",
  incomplete: "not wholly: the kernel keeps a part",
  "given-up": "given up",
  conflict: "left alone: it was changed by another since",
};

export const undoneWords = (how) => UNDONE[how] ?? words(how);

// Unit of the times of an explanation.
export const basisUnit = (basis) => (basis === "window" ? "share" : "\u00b5s a request");

// What differs between two environments, as a name.
export function differenceName({ what, feature, of, key, end, fact, host }) {
  const where = host ? ` of ${host}` : "";
  if (what === "feature") return `${words(feature)}${of ? ` ${of}` : ""}${where}`;
  if (what === "recipe-key") return `recipe: ${key}`;
  if (what === "path")
    return `network path: ${[end, fact]
      .filter((part) => typeof part === "string")
      .map(words)
      .join(" ")}${where}`;
  return `${words(what)}${where}`;
}
