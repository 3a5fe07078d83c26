// One case: its answer, its figures, what explains them, and its report.
import { caseAt, routeTo } from "./pure/address.js";
import { get, request } from "./api.js";
import { nameOf } from "./pure/case_list.js";
import { element, figure, heading, list, missingList, row, section, table, button } from "./dom.js";
import { command } from "./diagnose.js";
import { explained, findings } from "./explanations.js";
import { change, changes, counted, DASH, grouped, withUnit, words } from "./pure/figures.js";
import { fill, problemBox, UNCHANGED } from "./notice.js";
import { trustWords, verdictClass, verdictWords } from "./pure/verdicts.js";

const POLL_MS = 30_000;

const COLUMNS = [
  { name: "Arm" },
  { name: "Role" },
  { name: "Figure, median", number: true },
  { name: "Smallest to largest", number: true },
  { name: "Trials", number: true },
  { name: "Against", number: true },
  { name: "Interval", number: true },
  { name: "Verdict" },
];

export function show(main, session, [id = ""]) {
  const view = { ended: false, timer: 0 };
  const place = element("div");
  main.replaceChildren(
    element("p", { class: "path" }, element("a", { href: "#cases" }, "Cases"), " /"),
    heading(nameOf(id)),
    links(id),
    place,
  );
  const load = async () => {
    if (document.hidden && view.text) {
      view.timer = setTimeout(load, POLL_MS);
      return;
    }
    const isShown = await fill(
      place,
      "the case",
      () => get(caseAt(id), `the case ${id}`),
      (result) => {
        // Drawn anew only where something came in: somebody reads it.
        const text = JSON.stringify(result);
        if (text === view.text) return UNCHANGED;
        view.text = text;
        return draw(result, view);
      },
    );
    if (!isShown) view.text = undefined;
    if (view.ended || !view.isOpen) return;
    view.timer = setTimeout(load, POLL_MS);
  };
  load();
  return () => {
    view.ended = true;
    clearTimeout(view.timer);
  };
}

function links(id) {
  const why = element("div", { "aria-live": "polite" });
  // With the opener, whose session storage the new tab copies: it needs the token.
  const open = element("a", { href: `report.html${routeTo("case", [id])}`, target: "_blank", rel: "opener" }, "Open the report");
  return element(
    "div",
    {},
    element(
      "p",
      { class: "tools" },
      open,
      button("Save the report as a file", () => save(id, why)),
      element("a", { href: routeTo("changes", [id]) }, "Plan a change by it"),
    ),
    why,
  );
}

// The whole report with its own viewer, to be opened from the disk or sent on.
async function save(id, why) {
  why.replaceChildren();
  try {
    const response = await request(caseAt(id, "/report.html"), {}, `the report of ${id}`);
    const address = URL.createObjectURL(await response.blob());
    const name = `${id.split("/").filter(Boolean).pop() ?? "case"}-report.html`;
    element("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (error) {
    if (!("remedy" in error)) throw error;
    why.replaceChildren(problemBox(error));
  }
}

function draw(result, view) {
  const { answer, progress, missing, notes, next } = result;
  view.isOpen = typeof progress?.trials_planned === "number" && progress.trials_run < progress.trials_planned;
  return [
    element(
      "div",
      { class: `verdict ${answer?.tone ?? ""}` },
      element("p", { class: "title" }, answer?.title ? `${answer.title}.` : "There is no answer yet."),
      answer?.points?.length
        ? element(
            "ul",
            {},
            answer.points.map((point) => element("li", {}, point)),
          )
        : null,
      answer?.sure ? element("p", { class: "hint" }, answer.sure) : null,
    ),
    about(result),
    arms(result),
    findings(result.findings),
    explained(result),
    notes?.length
      ? section(
          "notes",
          "Notes",
          element(
            "ul",
            {},
            notes.map((note) => element("li", {}, note)),
          ),
        )
      : null,
    next?.length ? section("next", "What to do next", element("ul", {}, next.map(step))) : null,
    missingList(missing),
  ];
}

function about({ case: own, metric, progress, trust, contrasts }) {
  const planned = typeof progress?.trials_planned === "number" ? ` of ${grouped(progress.trials_planned)}` : "";
  return list([
    [
      "Measured",
      `${words(metric?.name)}${metric?.unit ? `, ${metric.unit}` : ""}; ${metric?.better === "lower" ? "less" : "more"} is better`,
    ],
    [
      "Trials",
      progress
        ? `${grouped(progress.trials_run)}${planned}, ${counted(progress.complete_blocks ?? 0, "complete block")}`
        : figure(DASH),
    ],
    ["Trust", trustWords(trust, Boolean(contrasts?.a_a))],
    own?.command && ["Command", element("code", {}, Array.isArray(own.command) ? own.command.join(" ") : String(own.command))],
    own?.dir && ["Folder", element("code", {}, own.dir)],
  ]);
}

function arms({ arms: all, contrasts, metric }) {
  if (!all?.length) return element("p", {}, "No trial is complete yet.");
  const { frame, body } = table("Arms", COLUMNS);
  for (const arm of all) {
    const { figure: seen } = arm;
    const against = contrastOf(arm, contrasts);
    const why =
      arm.role === "baseline" ? "it is the baseline itself" : "it is not compared, or there are too few complete blocks";
    const verdict =
      against &&
      element("span", { class: `tag ${verdictClass(against.verdict)}` }, verdictWords(against.verdict, metric?.margin));
    body.append(
      row(COLUMNS, [
        arm.copy ? `${arm.copy.of} (${arm.copy.letter})` : arm.arm,
        words(arm.role),
        figure(withUnit(seen?.median, metric?.unit), "no trial has the figure"),
        seen ? `${withUnit(seen.min)} to ${withUnit(seen.max, metric?.unit)}` : figure(DASH),
        seen ? grouped(seen.n) : figure(DASH),
        against ? [change(against.ratio), element("div", { class: "hint" }, against.reference ?? "")] : figure(DASH, why),
        figure(changes(against?.interval), why),
        verdict ?? figure(DASH, why),
      ]),
    );
  }
  return section("arms", "Figures", frame);
}

// What an arm is compared with: the baseline; a positive control the arm that it is a dose in.
function contrastOf(arm, contrasts) {
  if (arm.role === "baseline") return null;
  const control = contrasts?.control;
  if (control?.arm === arm.arm) return control;
  return contrasts?.against_baseline?.find((contrast) => contrast.arm === arm.arm) ?? null;
}

function step({ why, command: line }) {
  return element("li", {}, why, line ? command(Array.isArray(line) ? line.join(" ") : line) : null);
}
