import assert from "node:assert/strict";
import { test } from "node:test";
import { pure } from "./page.mjs";

const { EventParser, valueOf, waitBefore } = await pure("events");

const all = (pieces) => {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.push(piece));
};

test("an event is complete at the empty line and not before", () => {
  const parser = new EventParser();
  assert.deepEqual(parser.push('event: cpus\ndata: {"a":1}\n'), []);
  assert.deepEqual(parser.push("\n"), [{ event: "cpus", data: '{"a":1}' }]);
});

test("events are the same wherever the stream is cut, and whichever line ends it has", () => {
  const lines = ["event: cpus", "data: one", "data: two", "", ": a comment", "id: 7", "data:three", "", ""];
  const expected = [
    { event: "cpus", data: "one\ntwo" },
    { event: "message", data: "three" },
  ];
  for (const end of ["\n", "\r\n", "\r"]) {
    // What follows a CR at the very end is what tells whether an LF belongs to it.
    const text = `${lines.join(end)}${end === "\r" ? ":" : ""}`;
    for (let cut = 0; cut <= text.length; cut++)
      assert.deepEqual(all([text.slice(0, cut), text.slice(cut)]), expected, `${JSON.stringify(end)} ${cut}`);
    assert.deepEqual(all([...text]), expected);
  }
});

test("what has no data is no event, and one space after the colon is not part of the value", () => {
  assert.deepEqual(all(["event: cpus\n\ndata:  x\n\n"]), [{ event: "message", data: " x" }]);
  assert.deepEqual(all(["data\n\n"]), [{ event: "message", data: "" }]);
});

test("a name counts for its own event alone", () => {
  assert.deepEqual(
    all(["event: a\ndata: 1\n\ndata: 2\n\n"]).map(({ event }) => event),
    ["a", "message"],
  );
});

test("an event without an end is refused before it fills the memory", () => {
  const parser = new EventParser();
  const line = `data: ${"x".repeat(1 << 20)}\n`;
  assert.throws(() => {
    for (let i = 0; i < 64; i++) parser.push(line);
  }, RangeError);
  assert.throws(() => {
    const endless = new EventParser();
    for (let i = 0; i < 64; i++) endless.push("x".repeat(1 << 20));
  }, RangeError);
});

test("data that is no JSON is no value, and ends nothing", () => {
  assert.equal(valueOf({ data: "{" }), null);
  assert.deepEqual(valueOf({ data: '{"a":[]}' }), { a: [] });
});

test("each failure is followed by a longer wait, up to a bound", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 100].map((failures) => waitBefore(failures, 0.5));
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
  assert.ok(waitBefore(1, 0) < waitBefore(1, 1) && waitBefore(1, 0) > 0);
});

test("an event that comes in many pieces is whole, and the next one begins after it", () => {
  const long = JSON.stringify(Array.from({ length: 200_000 }, (_, i) => i));
  const text = `event: cpus\r\ndata: ${long}\r\n\r\ndata: next\n\n`;
  const pieces = Array.from({ length: Math.ceil(text.length / 1000) }, (_, at) => text.slice(at * 1000, at * 1000 + 1000));
  const [first, second] = all(pieces);
  assert.equal(first.data, long);
  assert.deepEqual(second, { event: "message", data: "next" });
  assert.deepEqual(all(["data: x\r", "", "\n", "", "\r\n"]), [{ event: "message", data: "x" }]);
});
