// What a second of a CPU looks like: the step of its colour, its segments, and the same in words. Pure.
import { counted, DASH, grouped, share } from "./figures.js";

export const STEPS = 10;

const isShare = (value) => typeof value === "number" && Number.isFinite(value);

// 0 to 9, by tenths of the second; null where it is not known, which is drawn as such and not as idle.
export const stepOf = (busy) => (isShare(busy) ? Math.min(Math.max(Math.floor(busy * STEPS), 0), STEPS - 1) : null);

// The sum of those that are known; null where none is.
export function sumOf(...shares) {
  const known = shares.filter(isShare);
  return known.length ? known.reduce((sum, one) => sum + one, 0) : null;
}

// Heights of the two segments of a tile, whole percents: what interrupts took, and what the hypervisor took. 0 where nothing is to be
// drawn.
export function segments(cpu) {
  const percent = (value) => (isShare(value) ? Math.min(Math.max(Math.round(value * 100), 0), 100) : 0);
  const interrupts = percent(sumOf(cpu.irq, cpu.softirq));
  return { interrupts, stolen: Math.min(percent(cpu.steal), 100 - interrupts) };
}

const COLUMNS = ["user", "system", "irq", "softirq", "steal", "idle"];

// A second of a CPU in words, every column with its share: 31 % busy: user 20 %, system 5 %, ...
export function inWords(cpu) {
  if (!cpu) return "not reported in the last second";
  const columns = COLUMNS.map(
    (name) => `${name} ${isShare(cpu[name]) ? share(cpu[name]) : `${DASH} (the kernel does not report it)`}`,
  );
  const busy = isShare(cpu.busy) ? `${share(cpu.busy)} busy` : "how busy is not known";
  return `${busy}: ${columns.join(", ")}`;
}

const FULL = 0.9;

// All CPUs of a second in one sentence.
export function summary(cpus) {
  const known = cpus.filter(({ busy }) => isShare(busy));
  if (known.length === 0) return "How busy the CPUs are is not known.";
  const mean = known.reduce((sum, { busy }) => sum + busy, 0) / known.length;
  const full = known.filter(({ busy }) => busy >= FULL).length;
  const busiest = known.reduce((most, cpu) => (cpu.busy > most.busy ? cpu : most));
  const unknown = known.length < cpus.length ? ` ${grouped(cpus.length - known.length)} not known.` : "";
  const most = `busiest: CPU ${busiest.cpu} at ${share(busiest.busy)}`;
  return `${counted(known.length, "CPU")}, ${share(mean)} busy on average, ${grouped(full)} at 90 % or more; ${most}.${unknown}`;
}

// The CPUs on which a line interrupts, those with most first: [{ cpu, rate }]. `numbers` says which CPU each rate is of, where they are
// not 0, 1, 2...
export function busiestOf(rates, numbers = null) {
  const named = (rates ?? []).map((rate, at) => ({ cpu: numbers?.[at] ?? at, rate }));
  return named.filter(({ rate }) => isShare(rate) && rate > 0).sort((a, b) => b.rate - a.rate || a.cpu - b.cpu);
}

// The rate of a line on all CPUs; null where it is known of none.
export const totalOf = (rates) => sumOf(...(rates ?? []));
