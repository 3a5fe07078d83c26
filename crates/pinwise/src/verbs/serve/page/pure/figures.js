// Figures as text, with their units. What is not known is a dash, never 0. Pure.

export const DASH = "\u2013";

const isKnown = (value) => typeof value === "number" && Number.isFinite(value);

// 1234567 as 1,234,567; with the sign that it has.
export function grouped(value) {
  if (!isKnown(value)) return DASH;
  const [whole, part] = String(Math.abs(value)).split(".");
  const digits = whole.includes("e") ? whole : whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${value < 0 ? "\u2212" : ""}${digits}${part === undefined ? "" : `.${part}`}`;
}

// Three figures at least: 12,345; 123; 12.3; 1.23; 0.0123.
export function rounded(value) {
  if (!isKnown(value)) return DASH;
  if (value === 0) return "0";
  const digits = Math.min(Math.max(2 - Math.floor(Math.log10(Math.abs(value))), 0), 12);
  return grouped(Number(value.toFixed(digits)));
}

// A share of one as percent; what is there and less than half a percent is said to be so.
export function share(value) {
  if (!isKnown(value)) return DASH;
  const percent = value * 100;
  if (percent > 0 && percent < 0.5) return "< 1 %";
  return `${Math.round(percent)} %`;
}

// A figure with its unit; a unit that is not known is left out.
export function withUnit(value, unit) {
  const text = rounded(value);
  if (text === DASH || !unit) return text;
  return unit.startsWith("/") ? `${text}${unit}` : `${text} ${unit}`;
}

export function perSecond(value) {
  const text = isKnown(value) && value >= 100 ? grouped(Math.round(value)) : rounded(value);
  return text === DASH ? text : `${text}/s`;
}

// A ratio as the change that it is: 0.739 as -26.1 %.
export function change(ratio) {
  if (!isKnown(ratio)) return DASH;
  const percent = (ratio - 1) * 100;
  const text = Math.abs(percent).toFixed(1);
  if (text === "0.0") return "\u00b10.0 %";
  return `${percent < 0 ? "\u2212" : "+"}${text} %`;
}

// An interval of ratios.
export function changes(interval) {
  return Array.isArray(interval) ? `${change(interval[0])} to ${change(interval[1])}` : DASH;
}

const STEPS = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];

export function bytes(value) {
  if (!isKnown(value)) return DASH;
  const [step, unit] = STEPS.find(([step]) => value >= step) ?? [1, "B"];
  return `${grouped(Number((value / step).toFixed(value / step < 10 ? 1 : 0)))} ${unit}`;
}

const TIMES = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "\u00b5s"],
];

export function duration(ns) {
  if (!isKnown(ns)) return DASH;
  const [step, unit] = TIMES.find(([step]) => Math.abs(ns) >= step) ?? [1, "ns"];
  return `${rounded(ns / step)} ${unit}`;
}

// How long ago, roughly.
export function ago(seconds) {
  if (!isKnown(seconds)) return DASH;
  const steps = [
    [86400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ];
  const [step, unit] = steps.find(([step]) => seconds >= step) ?? [];
  if (!step) return seconds < 10 ? "now" : `${Math.floor(seconds)} s ago`;
  const count = Math.floor(seconds / step);
  return `${grouped(count)} ${unit}${count === 1 ? "" : "s"} ago`;
}

// Numbers of CPUs as ranges: 0-3,7.
export function ranges(numbers) {
  if (!Array.isArray(numbers) || numbers.length === 0) return DASH;
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const parts = [];
  for (const number of sorted) {
    const last = parts[parts.length - 1];
    if (last && last[1] + 1 === number) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}

export const counted = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

// A word of a program, run_queue or not-as-asked, as words.
export const words = (id) => (typeof id === "string" ? id.replace(/[_-]+/g, " ") : DASH);
