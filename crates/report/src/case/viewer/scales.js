// How values are spread over an axis, as svg/scale.rs has it. `to` leads from a value to its place in units of the axis, `from` back.
const LEAST_LOG = 1e-3;
const MOST_NINES = 99.9999999;

const SPREADS = {
  linear: { to: (value) => value, from: (unit) => unit },
  log: { to: (value) => Math.log10(Math.max(value, LEAST_LOG)), from: (unit) => 10 ** unit },
  nines: {
    to: (value) => -Math.log10(1 - Math.min(value, MOST_NINES) / 100),
    from: (unit) => 100 * (1 - 10 ** -unit),
  },
};

// A number in full, with its thousands apart.
function exact(value) {
  return value.toLocaleString("en-US", { maximumFractionDigits: 12 });
}

// Round ticks within low..high, at most some more than `wanted`, with their texts.
function linearTicks(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * power).find((step) => step >= rough * 0.999);
  const maximumFractionDigits = Math.min(Math.max(1 - Math.floor(Math.log10(step)), 0), 12);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9 && found.length < 100; at++) {
    const value = at * step + 0; // Not -0.
    found.push({ value, text: value.toLocaleString("en-US", { maximumFractionDigits }) });
  }
  return found;
}

// 1, 2 and 5 times powers of ten, fewer where they would be too many; places are units of the axis.
function logTicks(low, high, wanted) {
  for (const times of [[1, 2, 5], [1, 3], [1]]) {
    const found = [];
    for (let power = Math.floor(low); power <= Math.ceil(high); power++) {
      for (const one of times) {
        const value = one * 10 ** power;
        if (Math.log10(value) >= low - 1e-9 && Math.log10(value) <= high + 1e-9) found.push(value);
      }
    }
    if (found.length <= wanted || times.length === 1) {
      const every = Math.max(Math.ceil(found.length / Math.max(wanted, 1)), 1);
      return found.filter((_, i) => i % every === 0).map((value) => ({ value, text: exact(Number(value.toPrecision(3))) }));
    }
  }
  return [];
}

// Ticks of an axis that shows the units low..high: each with its place in units, and its text.
function ticks(spread, low, high, wanted) {
  const { to, from } = SPREADS[spread];
  let found = [];
  if (spread === "log") found = logTicks(low, high, wanted);
  if (spread === "nines") {
    const all = [0, 50, 75, 90, 99, 99.9, 99.99, 99.999, 99.9999];
    const isWithin = (value) => to(value) >= low - 1e-9 && to(value) <= high + 1e-9;
    found = all.filter(isWithin).map((value) => ({ value, text: String(value) }));
  }
  if (found.length < 3) found = linearTicks(from(low), from(high), wanted);
  return found.map(({ value, text }) => ({ at: to(value), text: spread === "nines" ? `${text} %` : text }));
}
