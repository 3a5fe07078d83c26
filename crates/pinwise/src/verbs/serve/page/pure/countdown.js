// How long a change still waits to be confirmed. Pure; times are those of one clock of the browser's, ms, so that a clock of the server's
// that is off changes nothing: the server says how many seconds are left, and when that answer came is ours.

import { counted } from "./figures.js";

export const deadlineOf = (leftS, nowMs) => nowMs + leftS * 1000;

// Whole seconds that are left, rounded up; 0 when it is over.
export const secondsLeft = (deadlineMs, nowMs) => Math.max(Math.ceil((deadlineMs - nowMs) / 1000), 0);

// 1:05, 0:09.
export const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

// How long a plan that was shown can be applied, and for which processes; 0 s when that is over. Empty where the server does not say it.
export function lifeWords(goodForS, processes) {
  if (typeof goodForS !== "number") return "";
  if (goodForS <= 0) return "This plan has expired: make it again, and look at its dry run.";
  const minutes = Math.max(Math.floor(goodForS / 60), 1);
  const pids = (processes ?? []).map(({ pid }) => pid).join(", ");
  const bound = pids ? ` It is for process ${pids} alone: if that ends, make the plan again.` : "";
  return `It can be applied for ${counted(minutes, "minute")}.${bound}`;
}

// Whether a screen reader is to hear it between these two: each minute, at 30, 20 and 10, and when it is over.
export function isSpoken(before, now) {
  if (before === null) return true;
  const marks = [0, 10, 20, 30, 60];
  const minute = Math.floor((before - 1) / 60) !== Math.floor((now - 1) / 60) && now >= 60;
  return marks.some((mark) => before > mark && now <= mark) || minute;
}

// Of the sessions of 'pinwise status', the one whose time runs out first; null where none waits.
export function firstWaiting(sessions) {
  const waiting = (sessions ?? []).filter(({ to_confirm_within_s: left }) => typeof left === "number");
  return waiting.length
    ? waiting.reduce((first, one) => (one.to_confirm_within_s < first.to_confirm_within_s ? one : first))
    : null;
}

// Why nothing can be changed through this page; null where it can.
export function refusal(session) {
  if (!session.root && !session.allow_changes)
    return "This page only reads: changes take root, and 'pinwise serve --allow-changes'.";
  if (!session.root) return "This page only reads: 'pinwise serve' does not run as root.";
  if (!session.allow_changes) return "This page only reads: 'pinwise serve' was started without --allow-changes.";
  if (!session.csrf) return "This page only reads: the server gave it no right to change anything.";
  return null;
}
