import assert from "node:assert/strict";
import { test } from "node:test";
import { pure } from "./page.mjs";

const { arranged, cachesOf, nested, partName, placeOf, sizeFor } = await pure("topology");

const group = (kind, number, cpus) => ({ name: `${kind}:${number}`, kind, number, cpus });
const cpus = (count, offline = []) =>
  Array.from({ length: count }, (_, id) => ({ id, online: !offline.includes(id), allowed: true }));

// Two packages of two nodes of two L3 domains of two cores with two threads: 16 cores, 32 CPUs, threads 16 apart.
function large() {
  const of = (count, kind) =>
    Array.from({ length: count }, (_, number) => {
      const size = 16 / count;
      const cores = Array.from({ length: size }, (_, at) => number * size + at);
      return group(kind, number, [...cores, ...cores.map((core) => core + 16)]);
    });
  return { cpus: cpus(32), groups: [...of(2, "package"), ...of(4, "node"), ...of(8, "l3"), ...of(16, "core")] };
}

const allCpus = (nodes) => nodes.flatMap((node) => (node.children ? allCpus(node.children) : node.cores.flat()));

test("CPUs stand within package, node, L3 domain and core", () => {
  const { levels, bands } = arranged(large());
  assert.deepEqual(levels, ["package", "node", "l3"]);
  assert.equal(bands.length, 8);
  assert.deepEqual(
    bands[2].path.map(({ number }) => number),
    [0, 1, 2],
  );
  assert.deepEqual(bands[0].cores, [
    [0, 16],
    [1, 17],
  ]);
  const tree = nested(bands);
  assert.deepEqual(
    tree.map(({ parts }) => parts),
    [[{ kind: "package", number: 0 }], [{ kind: "package", number: 1 }]],
  );
  assert.equal(tree[0].children.length, 2);
  assert.equal(tree[0].children[0].children.length, 2);
  assert.deepEqual(
    allCpus(tree).sort((a, b) => a - b),
    Array.from({ length: 32 }, (_, id) => id),
  );
});

test("levels of a single group share a line", () => {
  const both = [0, 1];
  const machine = {
    cpus: cpus(2),
    groups: [
      group("package", 0, both),
      group("node", 0, both),
      group("l3", 0, both),
      group("core", 0, [0]),
      group("core", 1, [1]),
    ],
  };
  const tree = nested(arranged(machine).bands);
  assert.equal(tree.length, 1);
  assert.deepEqual(tree[0].parts.map(partName), ["package 0", "node 0", "L3 0"]);
  assert.deepEqual(tree[0].cores, [[0], [1]]);
});

test("where an L3 domain holds several nodes, it stands outside of them", () => {
  const machine = {
    cpus: cpus(8),
    groups: [
      group("package", 0, [0, 1, 2, 3, 4, 5, 6, 7]),
      ...[0, 1, 2, 3].map((n) => group("node", n, [2 * n, 2 * n + 1])),
      group("l3", 0, [0, 1, 2, 3]),
      group("l3", 1, [4, 5, 6, 7]),
    ],
  };
  const { levels, bands } = arranged(machine);
  assert.deepEqual(levels, ["package", "l3", "node"]);
  assert.equal(bands.length, 4);
});

test("every CPU has its place once, whatever is not known of it", () => {
  const machine = large();
  machine.groups = machine.groups.filter(({ kind, number }) => kind !== "l3" || number !== 3);
  machine.groups.find(({ kind, number }) => kind === "core" && number === 5).cpus = [21];
  const { bands } = arranged(machine);
  assert.deepEqual(
    allCpus(nested(bands)).sort((a, b) => a - b),
    Array.from({ length: 32 }, (_, id) => id),
  );
  assert.ok(bands.some(({ path }) => path[2].number === null));
  assert.equal(partName({ kind: "l3", number: null }), "L3 not known");
});

test("offline CPUs are apart, and a machine without groups is one band", () => {
  const { bands, offline, levels } = arranged({ cpus: cpus(4, [2]), groups: [] });
  assert.deepEqual([offline, levels, bands.length], [[2], [], 1]);
  const [all] = nested(bands);
  assert.deepEqual([all.parts, all.cores], [[], [[0], [1], [3]]]);
  assert.deepEqual(nested(arranged({}).bands), []);
});

test("without caches of level 3 the last-level cache is shown", () => {
  const machine = { cpus: cpus(4), groups: [group("llc", 0, [0, 1]), group("llc", 1, [2, 3])] };
  assert.deepEqual(arranged(machine).levels, ["llc"]);
});

test("4,096 CPUs all have their place", () => {
  const count = 4096;
  const of = (kind, size) =>
    Array.from({ length: count / size }, (_, n) =>
      group(
        kind,
        n,
        Array.from({ length: size }, (_, at) => n * size + at),
      ),
    );
  const machine = { cpus: cpus(count), groups: [...of("package", 512), ...of("node", 128), ...of("l3", 16), ...of("core", 2)] };
  assert.equal(allCpus(nested(arranged(machine).bands)).length, count);
});

test("a CPU and a cache have names with units", () => {
  const machine = {
    ...large(),
    caches: [
      { level: 2, bytes: 1, cpus: [0] },
      { level: 3, bytes: 32 << 20, cpus: [0, 16] },
    ],
  };
  assert.equal(partName({ kind: "l3", number: 0 }, cachesOf(machine, 0)), "L3 0 (32 MiB)");
  assert.equal(partName({ kind: "l3", number: 1 }, cachesOf(machine, 5)), "L3 1");
  assert.equal(placeOf(arranged(machine).cpus.get(17)), "package 0, node 0, L3 0, core 1");
});

test("tiles shrink as CPUs grow in number", () => {
  assert.deepEqual([2, 16, 17, 64, 65, 256, 257, 4096].map(sizeFor), [
    "large",
    "large",
    "medium",
    "medium",
    "small",
    "small",
    "tiny",
    "tiny",
  ]);
});
