// Changes: what is in force, and a plan that is shown, tried dry, applied with a deadline and confirmed.
import { get, post } from "./api.js";
import { control, enable } from "./change_control.js";
import { button, element, heading, section } from "./dom.js";
import { fill, problemBox, UNCHANGED } from "./notice.js";
import { outstanding } from "./outstanding.js";
import { drawPlan, planForm } from "./plan.js";
import { clock, deadlineOf, firstWaiting, isSpoken, refusal, secondsLeft } from "./pure/countdown.js";
import { counted } from "./pure/figures.js";
import { undoneWords } from "./pure/verdicts.js";

// How often what is in force is read again, ms: sooner while a change waits to be confirmed.
const POLL_MS = 15_000;
const WAITING_MS = 5_000;

export function show(main, session, [id = ""]) {
  const why = refusal(session);
  const view = { session, why, ended: false, timer: 0, tick: 0, expiry: 0, busy: false };
  view.status = element("div");
  view.waiting = element("div");
  view.plan = element("div");
  view.said = element("div", { "aria-live": "polite" });
  // Spoken at marks only; the figure that changes each second stands outside of it.
  view.spoken = element("p", { class: "unseen", "aria-live": "assertive" });
  view.controls = [];
  const undo = control(
    view,
    button("Undo everything", () => undoAll(view), { class: "danger" }),
  );
  main.replaceChildren(
    heading("Changes"),
    why
      ? element("p", { class: "warning", id: "why-not" }, why, " At a shell: pinwise apply, pinwise confirm, pinwise undo.")
      : "",
    view.spoken,
    view.waiting,
    view.said,
    section("in-force", "In force", view.status, element("p", { class: "tools" }, undo)),
    section(
      "make",
      "Make a plan of a case",
      planForm(view, id, (asked) => makePlan(view, asked)),
      view.plan,
    ),
  );
  enable(view);
  load(view);
  return () => {
    view.ended = true;
    clearTimeout(view.timer);
    clearTimeout(view.expiry);
    clearInterval(view.tick);
  };
}

async function load(view) {
  clearTimeout(view.timer);
  // Of two that overlap the later one counts: the earlier may have been answered before the change was made.
  const turn = (view.turn = (view.turn ?? 0) + 1);
  let waits = false;
  const isShown = await fill(
    view.status,
    "what is in force",
    () => get("/api/status", "what is in force"),
    (status) => {
      if (turn !== view.turn) return UNCHANGED;
      const first = firstWaiting(status.sessions);
      waits = first !== null;
      countDown(view, first);
      const text = JSON.stringify(status.sessions, (key, value) => (key === "to_confirm_within_s" ? undefined : value));
      if (text === view.text) return UNCHANGED;
      view.text = text;
      return outstanding(status.sessions ?? []);
    },
  );
  if (view.ended || turn !== view.turn) return;
  if (!isShown) view.text = undefined;
  view.timer = setTimeout(() => load(view), waits ? WAITING_MS : POLL_MS);
}

// Shows how long a change waits to be confirmed: by what the server says is left, counted on by the browser's own clock.
function countDown(view, session) {
  clearInterval(view.tick);
  if (session === null) {
    if (view.left !== undefined)
      say(view, element("p", {}, "No change waits to be confirmed any more: below is what is in force."));
    return noneWaits(view);
  }
  const deadline = deadlineOf(session.to_confirm_within_s, performance.now());
  if (view.left === undefined || view.waitsFor !== session.session) drawWaiting(view, session);
  let before = view.left ?? null;
  const count = () => {
    const left = secondsLeft(deadline, performance.now());
    view.clock.textContent = left > 0 ? clock(left) : "being taken back\u2026";
    if (isSpoken(before, left))
      view.spoken.textContent =
        left > 0 ? `${counted(left, "second")} left to confirm the change.` : "The time is over: the change is being taken back.";
    [before, view.left] = [left, left];
    if (left > 0) return;
    clearInterval(view.tick);
    setTimeout(() => view.ended || load(view), 1500);
  };
  view.tick = setInterval(count, 1000);
  count();
}

function noneWaits(view) {
  clearInterval(view.tick);
  view.left = undefined;
  view.waiting.replaceChildren();
  view.spoken.textContent = "";
}

function drawWaiting(view, session) {
  view.waitsFor = session.session;
  // What is shown, and no other that may wait by then.
  const asked = { session: session.session };
  view.clock = element("span", { class: "clock", "aria-hidden": "true" });
  const by = session.reverter_gone
    ? " What would take it back has gone: undo it by hand unless you keep it."
    : " Unless it is confirmed, it is taken back by itself.";
  view.waiting.replaceChildren(
    element(
      "div",
      { class: "waiting-box", role: "group", tabindex: "-1", "aria-label": "A change waits to be confirmed" },
      element("p", {}, element("strong", {}, session.purpose || `Session ${session.session}`), " waits to be confirmed.", by),
      view.clock,
      element(
        "p",
        { class: "tools" },
        control(
          view,
          button("Confirm: keep it", () => step(view, "confirm", asked, "the confirmation", confirmed), { class: "primary" }),
        ),
        control(
          view,
          button("Undo now", () => undoAll(view), { class: "danger" }),
        ),
      ),
    ),
  );
  enable(view);
  // Not to the button: the key that applied, pressed once more, must not confirm.
  if (view.isOurs) view.waiting.firstElementChild.focus();
  view.isOurs = false;
}

const confirmed = ({ confirmed: sessions }) =>
  element("p", {}, sessions?.length ? "Confirmed: the change stays until it is undone." : "Nothing waited to be confirmed.");

// One step at a time. What is in force is read again whatever came of it: also an answer that never came may have changed something.
async function step(view, name, body, object, draw) {
  if (view.busy || view.why) return;
  view.busy = true;
  enable(view);
  say(view, element("p", { class: "waiting" }, `Working on ${object}\u2026`));
  try {
    const answer = await post(`/api/changes/${name}`, body, view.session.csrf, object);
    // What waits now is read again in any case; what is said is what came of this step.
    if (name !== "plan") noneWaits(view);
    say(view, draw(answer));
  } catch (error) {
    if (!("remedy" in error)) throw error;
    const note =
      error.status === 0
        ? element("p", {}, "The server goes on with a change that it has begun: what is in force is read again below.")
        : null;
    say(view, problemBox(error), note);
  } finally {
    view.busy = false;
    if (!view.ended) {
      enable(view);
      load(view);
      // What had the focus is gone, or was disabled meanwhile.
      if (document.activeElement === document.body) document.querySelector("h1")?.focus();
    }
  }
}

const say = (view, ...what) => view.said.replaceChildren(...what.flat().filter(Boolean));

function makePlan(view, asked) {
  view.plan.replaceChildren();
  return step(view, "plan", asked, `the plan of ${asked.case}`, (answer) => {
    view.plan.replaceChildren(drawPlan(view, answer, (withinS) => applyPlan(view, answer.plan_id, withinS)));
    return element("p", {}, "The plan and what it would do are below. Nothing has been changed.");
  });
}

function applyPlan(view, planId, withinS) {
  const asked = { plan_id: planId, confirm_within_s: withinS };
  return step(view, "apply", asked, "the plan", (applied) => {
    const faults = (applied.settings ?? [])
      .filter(({ fault }) => fault)
      .map(({ knob, fault }) => problemBox({ object: knob, cause: fault.cause, remedy: fault.remedy ?? "" }));
    view.plan.replaceChildren();
    if (applied.acts_in_force === 0) return [element("p", {}, "Everything was so already: nothing was changed."), ...faults];
    view.isOurs = true;
    const acts =
      typeof applied.acts_in_force === "number" ? `${counted(applied.acts_in_force, "act")} in force.` : "It is in force.";
    const next = applied.deadline_s ? " See whether all is well, then confirm." : "";
    return [element("p", {}, `Applied: ${acts}${next}`), ...faults];
  });
}

function undoAll(view) {
  return step(view, "undo", {}, "the undo", ({ sessions, refused }) => {
    const acts = (sessions ?? []).flatMap(({ undone }) => undone ?? []);
    const lines = acts.map((act) => element("li", {}, `${act.object}: ${undoneWords(act.result)} (${act.old})`));
    const problems = [...(refused ?? []), ...(sessions ?? []).flatMap(({ problems: own }) => own ?? [])].map((fault) =>
      problemBox(fault),
    );
    return [
      element("p", {}, lines.length ? `Undone: ${counted(lines.length, "act")}.` : "Nothing was outstanding."),
      lines.length ? element("ul", {}, lines) : null,
      ...problems,
    ];
  });
}
