// The plan of a case: requested, shown with its reasons and its dry run, and applied with a deadline.
import { get } from "./api.js";
import { control, enable } from "./change_control.js";
import { button, element, figure, row, section, table } from "./dom.js";
import { fill, problemBox } from "./notice.js";
import { nameOf } from "./pure/case_list.js";
import { lifeWords } from "./pure/countdown.js";
import { change, changes, counted, DASH, words } from "./pure/figures.js";
import { ofFault } from "./pure/problem.js";

const USUAL_S = 60;

const COLUMNS = [
  { name: "Setting", kind: "wide" },
  { name: "Now" },
  { name: "New" },
  { name: "What would be done", kind: "wide" },
  { name: "Why", kind: "wide" },
];

// The form; `make` gets { case, server? }.
export function planForm(view, id, make) {
  const place = element("div");
  fill(
    place,
    "the cases",
    () => get("/api/cases?q=", "the list of cases"),
    ({ cases }) => {
      const usable = (cases ?? []).filter(({ fault }) => !fault);
      if (usable.length === 0) return element("p", {}, "There is no case to make a plan from.");
      const options = usable.map((one) => element("option", { value: one.id, selected: one.id === id }, nameOf(one.id)));
      const choice = element("select", { id: "of-case" }, options);
      const server = element("input", {
        id: "of-server",
        maxlength: "256",
        autocomplete: "off",
        spellcheck: "false",
        autocapitalize: "none",
      });
      const go = control(view, element("button", { type: "submit" }, "Plan and dry run"));
      const send = (event) => {
        event.preventDefault();
        make({ case: choice.value, ...(server.value.trim() && { server: server.value.trim() }) });
      };
      queueMicrotask(() => enable(view));
      return [
        element(
          "form",
          { class: "ask", onsubmit: send },
          element("label", { for: "of-case" }, "Case"),
          choice,
          element("label", { for: "of-server" }, "Server that the plan is for"),
          server,
          go,
        ),
        element(
          "p",
          { class: "hint" },
          "The server is a systemd unit, a process by name or number, a cgroup or a container. ",
          "Only plans with a setting for the server need it.",
        ),
      ];
    },
  );
  return place;
}

// The plan, and the button that applies it; `put` gets the seconds within which it has to be confirmed.
export function drawPlan(view, { plan, text, dry_run: dryRun, processes, good_for_s: goodForS }, put) {
  const { frame, body } = table("What it would do here", COLUMNS);
  const foreseen = dryRun?.settings ?? [];
  for (const one of foreseen) body.append(row(COLUMNS, cells(one)));
  const barred = foreseen.filter(({ fault }) => fault).length;
  const within = element("input", {
    id: "within",
    type: "number",
    min: "10",
    max: "600",
    step: "1",
    value: USUAL_S,
    required: true,
  });
  const go = control(view, element("button", { type: "submit", class: "primary" }, "Apply"));
  const life = element("p", { class: "hint", "aria-live": "polite" }, lifeWords(goodForS, processes));
  expire(view, goodForS, life, go);
  const send = (event) => {
    event.preventDefault();
    put(Number(within.value));
  };
  queueMicrotask(() => enable(view));
  return section(
    "plan",
    "Plan and dry run",
    element("p", {}, plan?.purpose ?? ""),
    predicted(plan?.predicted),
    frame,
    plan?.left_out?.length
      ? element(
          "details",
          {},
          element("summary", {}, `Left out (${plan.left_out.length})`),
          element(
            "ul",
            {},
            plan.left_out.map((why) => element("li", {}, why)),
          ),
        )
      : null,
    typeof text === "string"
      ? element(
          "details",
          {},
          element("summary", {}, "The plan as a file"),
          element("pre", { role: "region", "aria-label": "The plan as a file", tabindex: "0" }, text),
        )
      : null,
    barred > 0
      ? element(
          "p",
          { class: "warning" },
          `${counted(barred, "setting")} cannot be made here (see above): an apply would fail and undo everything.`,
        )
      : null,
    element(
      "form",
      { class: "ask", onsubmit: send },
      element("label", { for: "within" }, "Undo unless confirmed within (s)"),
      within,
      go,
      button("Discard", () => view.plan.replaceChildren()),
    ),
    life,
  );
}

// After that time the server refuses the plan: it can no longer be applied, and the reason is shown below.
function expire(view, goodForS, life, go) {
  clearTimeout(view.expiry);
  if (typeof goodForS !== "number") return;
  view.expiry = setTimeout(() => {
    go.expired = true;
    life.setAttribute("class", "warning");
    life.textContent = lifeWords(0);
    enable(view);
  }, goodForS * 1000);
}

function predicted(one) {
  if (!one) return element("p", { class: "hint" }, "The gain of the plan as a whole was not measured.");
  const ends = typeof one.low === "number" && typeof one.high === "number" ? ` (${changes([one.low, one.high])})` : "";
  return element("p", {}, `Expected: ${words(one.metric)} ${change(one.ratio)}${ends}, as measured in the study.`);
}

function cells(one) {
  const acts = (one.acts ?? []).map(({ call, old, new: to }) =>
    element("li", {}, element("code", {}, call), ` ${old} \u2192 ${to}`),
  );
  const done = one.fault
    ? problemBox(ofFault(one.fault, one.knob))
    : one.already
      ? "nothing: it has this value already"
      : element("ul", {}, acts);
  const owners = one.runs_here?.length
    ? element("p", { class: "hint" }, `May be overwritten by ${one.runs_here.join(", ")}.`)
    : null;
  const risk = one.risk ? element("p", { class: "hint" }, `Risk: ${one.risk}`) : null;
  return [
    [element("strong", {}, one.title ?? one.knob), element("div", { class: "hint" }, `${one.knob} of ${one.target}`)],
    figure(one.now ?? DASH, "it cannot be read"),
    one.value,
    done,
    [one.reason ?? "", one.evidence ? element("p", { class: "hint" }, one.evidence) : null, owners, risk],
  ];
}
