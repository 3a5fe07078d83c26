// Figures, addresses, problems, countdown, lists: the smaller of the functions that need no browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { pure } from "./page.mjs";

const figures = await pure("figures");
const address = await pure("address");
const problem = await pure("problem");
const countdown = await pure("countdown");
const list = await pure("case_list");
const shell = await pure("shell");
const verdicts = await pure("verdicts");
const { allowed } = await pure("taken_over");

test("what is not known is a dash in every form and never 0", () => {
  const forms = [
    "grouped",
    "rounded",
    "share",
    "perSecond",
    "change",
    "bytes",
    "duration",
    "ago",
    "withUnit",
    "changes",
    "ranges",
    "words",
  ];
  for (const form of forms)
    for (const unknown of [null, undefined, NaN]) assert.equal(figures[form](unknown), figures.DASH, `${form} ${unknown}`);
  assert.equal(figures.ranges([]), figures.DASH);
});

test("figures have their units and no more digits than they carry", () => {
  assert.deepEqual([0, 1234567, -1234.5].map(figures.grouped), ["0", "1,234,567", "\u22121,234.5"]);
  assert.deepEqual([0, 0.01234, 1.234, 12.34, 123.4, 12345.6].map(figures.rounded), [
    "0",
    "0.0123",
    "1.23",
    "12.3",
    "123",
    "12,346",
  ]);
  assert.deepEqual([0, 0.001, 0.006, 0.5, 1].map(figures.share), ["0 %", "< 1 %", "1 %", "50 %", "100 %"]);
  assert.deepEqual([0.5, 12345.6].map(figures.perSecond), ["0.5/s", "12,346/s"]);
  assert.deepEqual([0.739, 1.049, 1.0001].map(figures.change), ["\u221226.1 %", "+4.9 %", "\u00b10.0 %"]);
  assert.deepEqual([512, 32 << 20, 2 ** 40 * 1.5].map(figures.bytes), ["512 B", "32 MiB", "1.5 TiB"]);
  assert.deepEqual([512, 3.4e6, 2e9].map(figures.duration), ["512 ns", "3.4 ms", "2 s"]);
  assert.deepEqual([3, 59, 60, 7300, 200000].map(figures.ago), ["now", "59 s ago", "1 minute ago", "2 hours ago", "2 days ago"]);
  assert.deepEqual(
    [figures.withUnit(3.2, "/s"), figures.withUnit(3.2, "GHz"), figures.withUnit(3.2, "")],
    ["3.2/s", "3.2 GHz", "3.2"],
  );
  assert.equal(figures.ranges([7, 0, 1, 2, 2, 10, 9]), "0-2,7,9-10");
});

test("a token is taken out of any fragment that has one, and nothing else is", () => {
  const token = "0123456789abcdef".repeat(4);
  assert.equal(address.tokenIn(`#token=${token}`), token);
  assert.equal(address.tokenIn(`#cases&token=${token}&x=1`), token);
  for (const none of [
    "",
    "#",
    "#machine",
    "#token=",
    "#token=short",
    `#token=${token}\n`,
    `#token=${token}%0d`,
    `#xtoken=${token}`,
  ]) {
    assert.equal(address.tokenIn(none), null, none);
  }
});

test("every id of a case survives the way into the address and back", () => {
  for (const id of ["web/nginx-2", "./", "a b", "100 %", "<b>&#/?", "\u00fc/\u4e2d", "a%2Fb"]) {
    assert.deepEqual(address.routeOf(address.routeTo("case", [id])), { view: "case", ids: [id] });
    assert.equal(decodeURIComponent(address.caseAt(id, "/explain").slice("/api/cases/".length, -"/explain".length)), id);
    // What the browser makes of the path still has the id as one part.
    assert.equal(new URL(address.caseAt(id), "http://localhost").pathname.split("/").length, 4, id);
  }
  assert.deepEqual(address.routeOf(address.routeTo("compare", ["a/b", "c"])), { view: "compare", ids: ["a/b", "c"] });
  const asked = new URLSearchParams(address.compareAt(["a&case=x", "b"]).split("?")[1]);
  assert.deepEqual(asked.getAll("case"), ["a&case=x", "b"]);
});

test("an address that names no view shows the machine", () => {
  for (const hash of ["", "#", "#nothing", "#__proto__", "#constructor/x"])
    assert.deepEqual(address.routeOf(hash), { view: "machine", ids: [] });
  assert.deepEqual(address.routeOf("#case/%E0%A4"), { view: "case", ids: ["%E0%A4"] });
});

test("every answer that is none has an object, a cause and a remedy", () => {
  const said = { error: { class: "usage", object: "--for", cause: "too long", remedy: "1 to 30" } };
  const { object, cause, remedy, className } = problem.ofAnswer("the diagnosis", 400, said);
  assert.deepEqual([object, cause, remedy, className], ["--for", "too long", "1 to 30", "usage"]);
  for (const status of [400, 401, 403, 404, 413, 421, 429, 500, 503]) {
    for (const body of [null, {}, { error: "text" }, { error: {} }, []]) {
      const none = problem.ofAnswer("the machine", status, body);
      assert.ok(none.object === "the machine" && none.cause && none.remedy && none.status === status, `${status}`);
    }
  }
  const gone = problem.ofNoAnswer("the machine", new TypeError("Failed to fetch"));
  assert.match(gone.cause, /cannot be reached \(Failed to fetch\)/);
  assert.ok(gone.remedy);
});

test("a wrong token is not tried again, and a server that is gone is", () => {
  const of = (status) => problem.isFinal(problem.ofAnswer("x", status, null));
  assert.deepEqual([401, 403, 421, 429, 500, 503].map(of), [true, true, true, false, false, false]);
  assert.equal(problem.isFinal(problem.ofNoAnswer("x", new Error("y"))), false);
});

test("the countdown goes by the clock of the browser and ends at 0", () => {
  const deadline = countdown.deadlineOf(60, 1_000_000);
  assert.deepEqual(
    [1_000_000, 1_000_001, 1_059_000, 1_059_999, 1_060_000, 9e9].map((now) => countdown.secondsLeft(deadline, now)),
    [60, 60, 1, 1, 0, 0],
  );
  assert.deepEqual([0, 9, 65, 600].map(countdown.clock), ["0:00", "0:09", "1:05", "10:00"]);
});

test("the countdown is spoken at marks, each of them once, and also where seconds were skipped", () => {
  const spoken = [];
  for (let left = 600, before = null; left >= 0; before = left, left--) if (countdown.isSpoken(before, left)) spoken.push(left);
  assert.deepEqual(spoken, [600, 540, 480, 420, 360, 300, 240, 180, 120, 60, 30, 20, 10, 0]);
  assert.equal(countdown.isSpoken(35, 8), true);
  assert.equal(countdown.isSpoken(8, 7), false);
});

test("how long a plan can be applied is said with the processes that it is for", () => {
  const of = countdown.lifeWords;
  assert.equal(of(900, []), "It can be applied for 15 minutes.");
  assert.equal(of(60), "It can be applied for 1 minute.");
  assert.match(of(900, [{ pid: 4711 }]), /15 minutes\. It is for process 4711 alone/);
  assert.match(of(0, [{ pid: 4711 }]), /has expired: make it again/);
  for (const unknown of [undefined, null, "900"]) assert.equal(of(unknown), "");
});

test("of several changes that wait the one whose time runs out first counts", () => {
  const sessions = [{ session: "a" }, { session: "b", to_confirm_within_s: 40 }, { session: "c", to_confirm_within_s: -1 }];
  assert.equal(countdown.firstWaiting(sessions).session, "c");
  assert.equal(countdown.firstWaiting([{ session: "a" }]), null);
  assert.equal(countdown.firstWaiting(undefined), null);
});

test("where nothing may be changed it is said why", () => {
  assert.equal(countdown.refusal({ root: true, allow_changes: true, csrf: "c" }), null);
  assert.match(countdown.refusal({ root: false, allow_changes: true, csrf: null }), /does not run as root/);
  assert.match(countdown.refusal({ root: true, allow_changes: false, csrf: null }), /without --allow-changes/);
  assert.match(countdown.refusal({ root: false, allow_changes: false }), /take root, and .*--allow-changes/);
  assert.ok(countdown.refusal({ root: true, allow_changes: true, csrf: null }));
});

test("running studies come first and otherwise the server's order stays", () => {
  const cases = [{ id: "a" }, { id: "b", running: true }, { id: "c", running: null }, { id: "d", running: true }];
  assert.deepEqual(
    list.inOrder(cases).map(({ id }) => id),
    ["b", "d", "a", "c"],
  );
});

test("progress is a share only where both ends are known", () => {
  assert.deepEqual(
    [{ done: 5, planned: 10 }, { done: 12, planned: 10 }, { done: 5, planned: null }, { done: 0, planned: 0 }, null].map(
      list.progressOf,
    ),
    [0.5, 1, null, null, null],
  );
  assert.deepEqual([{ done: 5, planned: 14 }, { done: 1, planned: null }, null].map(list.progressWords), [
    "5 of 14 blocks",
    "1 block",
    figures.DASH,
  ]);
});

test("a case that has not been read is not called unfinished", () => {
  const of = list.stateWords;
  assert.equal(of({ running: null, finished: null, fault: null }), "not read yet");
  assert.equal(of({ running: false, finished: false, fault: null }), "not finished");
  assert.equal(of({ running: true, finished: false, fault: null }), "running");
  assert.equal(of({ running: null, finished: null, fault: { cause: "x" } }), "cannot be read");
});

test("what was chosen stays in the order of choosing, within what can be compared", () => {
  const chosen = ["b", "a", "c"].reduce(list.toggled, []);
  assert.deepEqual(chosen, ["b", "a", "c"]);
  assert.deepEqual(list.toggled(chosen, "a"), ["b", "c"]);
  assert.deepEqual(list.stillThere(chosen, [{ id: "a" }, { id: "b", fault: {} }]), ["a"]);
  assert.deepEqual(
    [1, 2, 16, 17].map((count) => list.choiceOf(Array(count).fill("x")).canCompare),
    [false, true, true, false],
  );
});

test("a study that ends is said, and a list that is read for the first time is no news", () => {
  assert.equal(list.news([], [{ id: "a", running: true }]), "");
  assert.equal(list.news([{ id: "a", running: true }], [{ id: "a", running: false }]), "a has ended.");
  assert.equal(list.news([{ id: "a", running: false }], [{ id: "a", running: true }]), "a runs.");
});

test("a command is read by a shell as it was meant", () => {
  assert.equal(shell.applyCommand({ knob: "swappiness", target: "machine", value: "1" }), "pinwise apply --set swappiness=1");
  for (const hostile of ["a b", "'; rm -rf / #", "$(id)", "`id`", 'a"b', "a\\b", "\u00fc", ""]) {
    const printed = execFileSync("/bin/sh", ["-c", `printf %s ${shell.quoted(hostile)}`], { encoding: "utf8" });
    assert.equal(printed, hostile);
  }
});

test("verdicts are words with their margin", () => {
  assert.equal(verdicts.verdictWords("equal", 0.02), "equal within 2 %");
  assert.equal(verdicts.verdictWords("not-as-asked", 0.02), "not as asked");
  assert.deepEqual(["better", "worse", "equal", "undecided"].map(verdicts.verdictClass), ["fast", "slow", "neutral", "neutral"]);
  assert.match(verdicts.trustWords({ is: "too-few", blocks: 3, needed: 6 }), /3 complete blocks, and one takes 6/);
  assert.match(verdicts.trustWords({ is: "sound" }, false), /no A\/A control/);
  assert.match(verdicts.trustWords(undefined), /not known/);
});

test("of a report only what draws is taken over: no script, no listener, no address", () => {
  for (const name of [
    "script",
    "style",
    "iframe",
    "object",
    "embed",
    "form",
    "input",
    "img",
    "link",
    "meta",
    "base",
    "use",
    "image",
    "foreignObject",
    "animate",
    "set",
  ]) {
    assert.equal(allowed.element(name), false, name);
  }
  for (const name of ["section", "table", "svg", "path", "text", "details"]) assert.equal(allowed.element(name), true, name);
  const no = [
    ["onclick", "x"],
    ["style", "x"],
    ["src", "x"],
    ["href", "javascript:alert(1)"],
    ["href", "https://example.org"],
    ["href", "//example.org"],
    ["xlink:href", "#a"],
    ["action", "x"],
    ["srcdoc", "x"],
    ["fill", "url(https://example.org)"],
    ["target", "_blank"],
  ];
  for (const [name, value] of no) assert.equal(allowed.attribute(name, value), false, `${name}=${value}`);
  for (const [name, value] of [
    ["href", "#findings"],
    ["class", "bar"],
    ["fill", "url(#a)"],
    ["d", "M0 0"],
    ["aria-label", "x"],
    ["data-plot", "x"],
  ]) {
    assert.equal(allowed.attribute(name, value), true, `${name}=${value}`);
  }
});

test("why it cannot be seen who had the CPUs is said without what does not matter to it", () => {
  const events = { fact: "kernel events", id: "kernel-events", why: "run as root" };
  const other = { fact: "cpufreq", id: { probe: "cpufreq" }, why: "there is none" };
  assert.deepEqual(problem.hindrances([other, events]), [events]);
  assert.deepEqual(problem.hindrances([other]), [other]);
  assert.deepEqual([undefined, null, []].map(problem.hindrances), [[], [], []]);
});
