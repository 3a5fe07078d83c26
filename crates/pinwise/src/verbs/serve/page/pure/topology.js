// CPUs by package, node, L3 domain and core, out of what 'pinwise map' reports. Pure.
import { bytes } from "./figures.js";

const NAMES = { package: "package", node: "node", l3: "L3", llc: "last-level cache" };

// The machine as { levels, bands, cpus, offline }. A band is CPUs that share all levels: { path: [{ kind, number }], cores: [[cpu]] },
// in order; `cpus` has for each number what is known of it. Levels that no CPU has are in no path.
export function arranged(machine) {
  const groups = Array.isArray(machine.groups) ? machine.groups : [];
  const cpus = new Map((machine.cpus ?? []).map((cpu) => [cpu.id, { ...cpu, place: {} }]));
  const kinds = ["package", "node", groups.some(({ kind }) => kind === "l3") ? "l3" : "llc"];
  for (const { kind, number, cpus: members } of groups) {
    for (const id of members) if (cpus.has(id)) cpus.get(id).place[kind] = number;
  }
  const online = [...cpus.values()].filter((cpu) => cpu.online !== false);
  const levels = coarseFirst(kinds, online);
  return {
    levels,
    bands: bandsOf(levels, online),
    cpus,
    offline: [...cpus.values()].filter((cpu) => cpu.online === false).map(({ id }) => id),
  };
}

// Levels that some CPU has, those with the fewest groups first: a node is a part of a package here and holds several there.
function coarseFirst(kinds, cpus) {
  const groupsOf = (kind) => new Set(cpus.map((cpu) => cpu.place[kind]).filter((number) => number !== undefined)).size;
  const known = kinds.filter((kind) => groupsOf(kind) > 0);
  return known.sort((a, b) => groupsOf(a) - groupsOf(b) || kinds.indexOf(a) - kinds.indexOf(b));
}

function bandsOf(levels, cpus) {
  const bands = new Map();
  for (const cpu of cpus) {
    const path = levels.map((kind) => ({ kind, number: cpu.place[kind] ?? null }));
    const key = path.map(({ number }) => number ?? "?").join("/");
    if (!bands.has(key)) bands.set(key, { path, members: [] });
    bands.get(key).members.push(cpu);
  }
  const rank = ({ path }) => path.map(({ number }) => number ?? Infinity);
  return [...bands.values()]
    .sort((a, b) => byNumbers(rank(a), rank(b)))
    .map(({ path, members }) => ({ path, cores: coresOf(members) }));
}

function byNumbers(a, b) {
  const at = a.findIndex((number, place) => number !== b[place]);
  return at < 0 ? 0 : a[at] - b[at];
}

// Threads of a core stand side by side, cores in the order of their smallest CPU. A CPU whose core is not known is one of its own.
function coresOf(cpus) {
  const cores = new Map();
  for (const { id, place } of cpus) {
    const key = place.core === undefined ? `cpu ${id}` : place.core;
    if (!cores.has(key)) cores.set(key, []);
    cores.get(key).push(id);
  }
  const sorted = [...cores.values()].map((core) => core.sort((a, b) => a - b));
  return sorted.sort((a, b) => a[0] - b[0]);
}

// Bands as a tree for drawing: [{ parts, children } | { parts, cores }], parts as in a path. A level with a single group below its
// parent shares its line.
export function nested(bands, level = 0) {
  const groups = [];
  for (const band of bands) {
    const at = band.path[level];
    const last = groups[groups.length - 1];
    if (last && at && last.at?.number === at.number) last.bands.push(band);
    else groups.push({ at, bands: [band] });
  }
  return groups.map(({ at, bands: own }) => {
    if (!at) return { parts: [], cores: own.flatMap(({ cores }) => cores) };
    const inner = nested(own, level + 1);
    if (inner.length > 1) return { parts: [at], children: inner };
    return { ...inner[0], parts: [at, ...inner[0].parts] };
  });
}

// What a part of a path is called: node 1; L3 2 (32 MiB); node not known.
export function partName({ kind, number }, caches = []) {
  const name = NAMES[kind] ?? kind;
  if (number === null || number === undefined) return `${name} not known`;
  const size = caches.length ? ` (${bytes(caches[0].bytes)})` : "";
  return `${name} ${number}${size}`;
}

// The L3 caches that hold this CPU.
export const cachesOf = (machine, cpu) =>
  (machine.caches ?? []).filter((cache) => cache.level === 3 && cache.cpus.includes(cpu) && cache.bytes > 0);

// How large tiles may be so that a picture of this many fits a screen.
export function sizeFor(count) {
  if (count <= 16) return "large";
  if (count <= 64) return "medium";
  return count <= 256 ? "small" : "tiny";
}

// Where a CPU stands, in words: package 0, node 1, L3 2, core 3.
export function placeOf(cpu) {
  const { place } = cpu;
  const parts = ["package", "node", "l3", "core"].filter((kind) => place[kind] !== undefined);
  return parts.map((kind) => `${NAMES[kind] ?? kind} ${place[kind]}`).join(", ");
}
