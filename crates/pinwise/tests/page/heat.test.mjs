import assert from "node:assert/strict";
import { test } from "node:test";
import { pure } from "./page.mjs";

const { busiestOf, inWords, segments, stepOf, sumOf, summary, totalOf } = await pure("heat");

test("every tenth of busyness has its colour, and both ends are within the scale", () => {
  assert.deepEqual([0, 0.05, 0.1, 0.55, 0.999, 1].map(stepOf), [0, 0, 1, 5, 9, 9]);
  assert.deepEqual([-0.1, 1.5].map(stepOf), [0, 9]);
});

test("what is not known has no colour and is not idle", () => {
  for (const unknown of [null, undefined, NaN, Infinity, "0.5"]) assert.equal(stepOf(unknown), null, String(unknown));
});

test("a sum is of what is known, and of nothing it is not 0", () => {
  assert.equal(sumOf(0.25, null, 0.5), 0.75);
  assert.equal(sumOf(null, undefined), null);
  assert.equal(totalOf([null, null]), null);
  assert.equal(totalOf(undefined), null);
  assert.equal(totalOf([1, null, 2]), 3);
});

test("the segments of a tile never exceed it", () => {
  assert.deepEqual(segments({ irq: 0.1, softirq: 0.05, steal: 0.2 }), { interrupts: 15, stolen: 20 });
  assert.deepEqual(segments({ irq: 0.9, softirq: 0.9, steal: 0.9 }), { interrupts: 100, stolen: 0 });
  assert.deepEqual(segments({ irq: null, softirq: null, steal: null }), { interrupts: 0, stolen: 0 });
});

test("a second in words has every column, and says which the kernel does not report", () => {
  const words = inWords({ busy: 0.31, user: 0.2, system: 0.1, irq: null, softirq: 0.01, steal: 0, idle: 0.69 });
  assert.match(
    words,
    /^31 % busy: user 20 %, system 10 %, irq \u2013 \(the kernel does not report it\), softirq 1 %, steal 0 %, idle 69 %$/,
  );
  assert.match(inWords({ busy: null }), /^how busy is not known/);
  assert.equal(inWords(undefined), "not reported in the last second");
});

test("the summary counts CPUs that are not known apart", () => {
  const cpus = [
    { cpu: 0, busy: 0.5 },
    { cpu: 3, busy: 1 },
    { cpu: 4, busy: null },
  ];
  assert.equal(summary(cpus), "2 CPUs, 75 % busy on average, 1 at 90 % or more; busiest: CPU 3 at 100 %. 1 not known.");
  assert.equal(summary([{ cpu: 0, busy: null }]), "How busy the CPUs are is not known.");
  assert.equal(summary([]), "How busy the CPUs are is not known.");
});

test("rates belong to the CPUs of their columns, also where some are offline", () => {
  assert.deepEqual(busiestOf([5, 0, 9, null]), [
    { cpu: 2, rate: 9 },
    { cpu: 0, rate: 5 },
  ]);
  assert.deepEqual(busiestOf([5, 9], [1, 7]), [
    { cpu: 7, rate: 9 },
    { cpu: 1, rate: 5 },
  ]);
  assert.deepEqual(
    busiestOf([3, 3], [4, 2]).map(({ cpu }) => cpu),
    [2, 4],
  );
  assert.deepEqual(busiestOf(undefined), []);
});
