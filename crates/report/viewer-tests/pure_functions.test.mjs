// The functions of the report's viewer that need no browser: node --test crates/report/viewer-tests/*.mjs

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const FILES = ["scales", "range", "columns", "nearest", "csv", "tables", "waterfall"];
const NAMES = [
  "SPREADS",
  "addToColumns",
  "cellNumber",
  "csvPieces",
  "csvText",
  "emptyColumns",
  "fallRange",
  "fallRows",
  "fallSteps",
  "held",
  "moved",
  "nearest",
  "placesWithin",
  "sortedPlaces",
  "ticks",
  "zoomed",
];
const source = FILES.map((name) => readFileSync(new URL(`../src/case/viewer/${name}.js`, import.meta.url), "utf8"));
const viewer = new Function(`"use strict";\n${source.join("\n")}\nreturn { ${NAMES.join(", ")} };`)();

test("columns keep the least and the greatest value of every pixel", () => {
  const count = 100_000;
  const xs = Float64Array.from({ length: count }, (_, i) => i);
  const ys = Float64Array.from(xs, (x) => Math.sin(x));
  ys[77_777] = 40;
  ys[77_778] = -40;
  const columns = viewer.emptyColumns(1000);
  viewer.addToColumns(columns, xs, ys, 0, count, 0, count);
  assert.equal(Math.max(...columns.most), 40);
  assert.equal(Math.min(...columns.least), -40);
  assert.equal(columns.most[777], 40);
  for (let column = 0; column < 1000; column++) {
    const own = ys.subarray(column * 100, column * 100 + 100);
    assert.equal(columns.least[column], Math.min(...own));
    assert.equal(columns.most[column], Math.max(...own));
  }
});

test("the last point of a range stands in the last column", () => {
  const columns = viewer.emptyColumns(10);
  viewer.addToColumns(columns, [5], [1], 0, 1, 0, 5);
  assert.equal(columns.least[9], 1);
  assert.equal(columns.least[0], Infinity);
});

test("places within a range are found among equal values and at both ends", () => {
  const xs = [1, 2, 2, 3, 5];
  assert.deepEqual(viewer.placesWithin(xs, 2, 3), [1, 4]);
  assert.deepEqual(viewer.placesWithin(xs, 0, 9), [0, 5]);
  assert.deepEqual(viewer.placesWithin(xs, 3.5, 4), [4, 4]);
  assert.deepEqual(viewer.placesWithin([], 0, 1), [0, 0]);
});

test("the nearest point is the one that is nearest in pixels", () => {
  const view = { left: 10, top: 20, width: 100, height: 50, xs: [0, 10], ys: [0, 1] };
  const [xs, ys] = [[1, 5, 6, 9], [0.5, 0, 1, 0.5]];
  // x = 5 and y = 0 stand at pixel (60, 70).
  assert.deepEqual(viewer.nearest(xs, ys, view, 60, 70, 24), { place: 1, distance: 0 });
  assert.equal(viewer.nearest(xs, ys, view, 66, 24, 24).place, 2);
  assert.equal(viewer.nearest(xs, ys, view, 40, 45, 5), undefined);
});

test("a range stays within the whole, and zooms about its place", () => {
  assert.deepEqual(viewer.held([-5, 5], [0, 100]), [0, 10]);
  assert.deepEqual(viewer.held([95, 105], [0, 100]), [90, 100]);
  assert.deepEqual(viewer.held([-50, 500], [0, 100]), [0, 100]);
  assert.deepEqual(viewer.zoomed([0, 100], [0, 100], 25, 0.5), [12.5, 62.5]);
  assert.deepEqual(viewer.moved([10, 20], [0, 100], 0.5), [15, 25]);
  const [low, high] = viewer.held([5, 5], [0, 100]);
  assert.ok(high > low);
});

test("every spread leads back, and zeros and hundreds stay finite", () => {
  for (const spread of Object.values(viewer.SPREADS)) {
    for (const value of [0.5, 12, 99]) assert.ok(Math.abs(spread.from(spread.to(value)) - value) < 1e-9);
    assert.ok([0, 100].every((value) => Number.isFinite(spread.to(value))));
  }
});

test("ticks are round, within the axis, and some of them", () => {
  assert.deepEqual(viewer.ticks("linear", 0, 10, 5).map(({ text }) => text), ["0", "2", "4", "6", "8", "10"]);
  assert.deepEqual(viewer.ticks("log", 0, 3, 5).map(({ text }) => text), ["1", "10", "100", "1,000"]);
  assert.deepEqual(viewer.ticks("nines", 0.9, 3, 6).map(({ text }) => text), ["90 %", "99 %", "99.9 %"]);
  for (const spread of ["linear", "log", "nines"]) {
    for (const [low, high] of [[0.1, 0.10001], [1, 1], [0, 4.5]]) {
      const found = viewer.ticks(spread, low, high, 6);
      assert.ok(found.length <= 20);
      assert.ok(found.every(({ at }) => at >= low - 1e-6 && at <= high + 1e-6), `${spread} ${JSON.stringify(found)}`);
    }
  }
});

test("CSV quotes what has to be quoted, and no name is a formula", () => {
  const series = [{ name: '=cmd|"x",1', x: [1, 2], y: [0.5, 1e-7] }, { name: "cpu 5", x: [3], y: [4] }];
  const plot = { x: { name: "trial" }, y: { name: "requests/s" }, series };
  const text = viewer.csvPieces(plot).join("");
  const hostile = `"'=cmd|""x"",1"`;
  assert.equal(text, `series,trial,requests/s\r\n${hostile},1,0.5\r\n${hostile},2,1e-7\r\ncpu 5,3,4\r\n`);
  assert.equal(viewer.csvText("a\nb"), '"a\nb"');
  assert.equal(viewer.csvText("a;=1; @b;c"), "a;'=1;' @b;c");
  assert.equal(viewer.csvText("\t1"), "'\t1");
});

test("numbers stay numbers in CSV, and what only begins like one is guarded", () => {
  for (const number of ["-5", "+1.5e3", "-.5", "-5.", "1;-5", "-1E-7"]) assert.equal(viewer.csvText(number), number);
  const formulas = ["-2+3", "+1+1", "-", "-5 %", "--5", "-1e", "-5x", "=1", "@SUM(A1)", " =1", " -5", "\uff0d5", "-inf"];
  for (const formula of formulas) assert.equal(viewer.csvText(formula), `'${formula}`);
  assert.equal(viewer.csvText('"-5'), `"'""-5"`);
  const series = [{ name: "a", x: [-1, 2, 3], y: [-0.5, NaN, null] }];
  const text = viewer.csvPieces({ x: { name: "-1" }, y: { name: "change, %" }, series }).join("");
  assert.equal(text, 'series,-1,"change, %"\r\na,-1,-0.5\r\na,2,\r\na,3,\r\n');
});

test("CSV has every point of a long series once", () => {
  const x = Array.from({ length: 25_001 }, (_, i) => i);
  const plot = { x: { name: "x" }, y: { name: "y" }, series: [{ name: "a", x, y: x }] };
  const lines = viewer.csvPieces(plot).join("").trimEnd().split("\r\n");
  assert.equal(lines.length, 25_002);
  assert.equal(lines[10_001], "a,10000,10000");
});

test("cells are numbers by how they begin", () => {
  const cells = { "10,244": 10244, "-26.1 % [-28.0, -24.3]": -26.1, "16.9k": 16900, "3 kernels": 3, "+4": 4 };
  for (const [text, number] of Object.entries(cells)) assert.equal(viewer.cellNumber(text), number);
  assert.equal(viewer.cellNumber("CPU 3"), undefined);
});

test("rows are in order, equal ones stay as they were, and what is not known comes last", () => {
  assert.deepEqual(viewer.sortedPlaces(["9", "-", "1,000", "9"], true, false), [0, 3, 2, 1]);
  assert.deepEqual(viewer.sortedPlaces(["9", "-", "1,000", "9"], true, true), [2, 0, 3, 1]);
  assert.deepEqual(viewer.sortedPlaces(["cpu 10", "cpu 9", ""], false, false), [1, 0, 2]);
});

// From 100 to 128 by four steps, of which two are not shown to differ.
const FALL_OF_TEST = {
  from: { name: "unpinned A", value: 100, span: null, words: "100.0 us", interval: "" },
  steps: [
    { name: "waiting for a CPU", by: 30, span: [28, 32], kind: "slow", words: "+30.0 us", interval: "[+28.0, +32.0]" },
    { name: "asleep", by: -3, span: [-5, -1], kind: "fast", words: "-3.0 us", interval: "[-5.0, -1.0]" },
    { name: "on the CPU", by: 2, span: [-1, 5], kind: "pinned", words: "+2.0 us", interval: "[-1.0, +5.0]" },
    { name: "interrupts", by: -1, span: null, kind: "pinned", words: "-1.0 us", interval: "" },
  ],
  to: { name: "cpu 0", value: 128, span: [25, 31], words: "128.0 us", interval: "+28.0 %" },
};

test("the steps of a waterfall lead from one total to the other, in every order and folded", () => {
  for (const isBySize of [false, true]) {
    for (const isFolded of [false, true]) {
      const steps = viewer.fallSteps(FALL_OF_TEST.steps, isBySize, isFolded);
      assert.equal(steps.reduce((sum, { by }) => sum + by, FALL_OF_TEST.from.value), FALL_OF_TEST.to.value);
      const rows = viewer.fallRows(FALL_OF_TEST, steps);
      assert.equal(rows.length, steps.length + 2);
      for (let i = 2; i < rows.length - 1; i++) assert.equal(rows[i].start, rows[i - 1].end);
      assert.equal(rows.at(-2).end, rows.at(-1).end);
    }
  }
});

test("what is not shown to differ is folded into one step without an interval, and is never a claim", () => {
  const steps = viewer.fallSteps(FALL_OF_TEST.steps, false, true);
  assert.deepEqual(steps.map(({ by, kind }) => [by, kind]), [[30, "slow"], [-3, "fast"], [1, "pinned"]]);
  assert.equal(steps[2].span, null);
  assert.deepEqual(viewer.fallSteps(FALL_OF_TEST.steps, true, false).map(({ by }) => by), [30, -3, 2, -1]);
  assert.equal(FALL_OF_TEST.steps[0].by, 30, "the data stay in order");
});

test("whiskers of a waterfall stand where their steps begin, and all of them are within its axis", () => {
  const rows = viewer.fallRows(FALL_OF_TEST, FALL_OF_TEST.steps);
  assert.deepEqual(rows[2].whisker, [125, 129]);
  assert.deepEqual(rows.at(-1).whisker, [125, 131]);
  const [low, high] = viewer.fallRange(rows);
  assert.ok(low > 0 && low < 100 && high > 132, `${low} ${high}`);
  const small = viewer.fallRows({ from: { value: 1 }, to: { value: 9 } }, [{ by: 8, span: null }]);
  assert.equal(viewer.fallRange(small)[0], 0, "steps that are large leave the whole bar");
});
