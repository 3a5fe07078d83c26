// The table of who had the CPUs, as a new window of figures comes every five seconds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { shown } from "./fake_dom.mjs";
import { script } from "./page.mjs";

const { takerTable } = await script("takers");

const taker = { name: "nginx", kind: "task", share: 0.5, longest_ns: 1e6, cpus: [1] };
const event = (why) => ({ takers: [taker], window_s: 2, missing: why.map((one) => ({ fact: "kernel events", why: one })) });

test("the list of what is not known stays open while new figures come", () => {
  const { part, put } = takerTable();
  const view = shown(part);
  put(event(["12 were lost"]));
  const [list] = view.all("details");
  assert.equal(list.hidden, false);
  list.open = true;
  for (const why of [["13 were lost"], ["14 were lost", "a CPU went offline"], ["14 were lost", "a CPU went offline"]]) {
    put(event(why));
    assert.ok(view.all("details").length === 1 && view.all("details")[0] === list, "its element stays, and so does the focus");
    assert.equal(list.open, true);
    assert.equal(list.all("summary")[0].textContent, `Not known (${why.length})`);
    assert.deepEqual(
      list.all("li").map((line) => line.textContent),
      why.map((one) => `kernel events: ${one}`),
    );
  }
});

test("a list of what is not known goes when all is known, and why nothing is known is no list to open", () => {
  const { part, put } = takerTable();
  const view = shown(part);
  const [list] = view.all("details");
  assert.equal(list.hidden, true);
  put(event(["12 were lost"]));
  put(event([]));
  assert.equal(list.hidden, true);
  put({ takers: null, missing: [{ fact: "kernel events", id: "kernel-events", why: "run as root" }] });
  assert.equal(list.hidden, true);
  assert.match(view.textContent, /kernel events: run as root/);
});
