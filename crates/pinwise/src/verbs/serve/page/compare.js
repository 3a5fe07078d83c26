// Cases side by side, as 'pinwise compare' sets them: no difference between cases is claimed.
import { compareAt, routeTo } from "./pure/address.js";
import { get } from "./api.js";
import { element, figure, heading, row, section, table } from "./dom.js";
import { change, DASH, grouped, rounded, withUnit, words } from "./pure/figures.js";
import { fill, problemBox } from "./notice.js";
import { differenceName, trustWords } from "./pure/verdicts.js";

export function show(main, session, ids) {
  const place = element("div");
  main.replaceChildren(
    element("p", { class: "path" }, element("a", { href: "#cases" }, "Cases"), " /"),
    heading("Comparison"),
    place,
  );
  if (ids.length < 2) {
    place.append(
      problemBox({ object: "the comparison", cause: "it takes two cases at least", remedy: "choose them in the list of cases" }),
    );
    return () => {};
  }
  const abort = new AbortController();
  fill(
    place,
    "the comparison",
    () => get(compareAt(ids), "the comparison", abort.signal),
    (sheet) => draw(sheet, ids),
  );
  return () => abort.abort();
}

function draw(sheet, ids) {
  const { cases, metric, unit, better, notes, environment } = sheet;
  const claim =
    "No difference between cases is claimed: their trials share no block. To test one, study both placements in one case.";
  return [
    element("p", {}, `${words(metric)}${unit ? `, ${unit}` : ""}; ${better === "lower" ? "less" : "more"} is better. `, claim),
    sideBySide(cases, ids),
    shared(sheet),
    curves(sheet),
    differences(environment, cases),
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
  ];
}

function sideBySide(cases, ids) {
  const columns = [
    { name: "Case" },
    { name: "What" },
    { name: "CPUs", number: true },
    { name: "Clock", number: true },
    { name: "Complete blocks", number: true },
    { name: "Trust" },
  ];
  const { frame, body } = table("Cases", columns);
  cases.forEach((one, at) =>
    body.append(
      row(columns, [
        element("a", { href: routeTo("case", [ids[at] ?? one.name]) }, one.name),
        one.title,
        figure(grouped(one.cpus), "the machine of the case is not known"),
        figure(withUnit(one.ghz, "GHz"), one.ghz_missing ?? ""),
        grouped(one.blocks),
        trustWords(one.trust),
      ]),
    ),
  );
  return section("sides", "Cases", frame);
}

function shared({ arms, cases, unit }) {
  if (!arms?.length) return null;
  const columns = [
    { name: "Arm" },
    ...cases.flatMap(({ name }, at) =>
      [{ name, number: true }, at > 0 && { name: "to the first", number: true }].filter(Boolean),
    ),
  ];
  const { frame, body } = table("Arms that at least two cases have", columns);
  for (const arm of arms) {
    const cells = cases.flatMap((_, at) => {
      const seen = figure(withUnit(arm.figures[at]?.value, unit), "the case does not have the arm");
      return at === 0
        ? [seen]
        : [seen, figure(change(arm.to_first[at]), "one of the two has no figure, or it is the first itself")];
    });
    body.append(row(columns, [arm.arm, ...cells]));
  }
  return section("arms", "Figures", frame);
}

function curves({ curves: all, cases, unit }) {
  if (!all?.length) return null;
  const columns = [
    { name: "Case" },
    { name: "Filled" },
    { name: "CPUs", number: true },
    { name: "Figure", number: true },
    { name: "A CPU", number: true },
    { name: "Efficiency", number: true },
  ];
  const { frame, body } = table("How each scales", columns);
  for (const { case: at, fill: order, points } of all) {
    for (const point of points) {
      body.append(
        row(columns, [
          cases[at]?.name ?? DASH,
          words(order),
          grouped(point.cpus),
          figure(withUnit(point.figure?.value, unit)),
          figure(withUnit(point.per_cpu, unit), "CPUs do not share a figure that is better when lower"),
          figure(rounded(point.efficiency), "one CPU alone was not measured"),
        ]),
      );
    }
  }
  return section("curves", "Scaling", frame);
}

function differences(environment, cases) {
  if (!environment) return null;
  const { differences: all, cannot_tell: unknown, machines_compared: machines } = environment;
  const columns = [{ name: "What" }, ...cases.map(({ name }) => ({ name, kind: "wide" }))];
  const { frame, body } = table("What else differs, the heaviest first", columns);
  for (const one of all ?? [])
    body.append(
      row(columns, [differenceName(one), ...one.values.map((value) => value ?? figure(DASH, "the case does not say"))]),
    );
  const none =
    machines > 1 ? "The machines do not differ in anything that was read." : "Fewer than two of the cases know their machine.";
  const rest = (unknown ?? []).map(({ cases: of, why }) => element("li", {}, `${of.join(", ")}: ${why}`));
  return section(
    "environment",
    "What else differs",
    all?.length ? frame : element("p", {}, none),
    rest.length ? element("details", {}, element("summary", {}, `Not known (${rest.length})`), element("ul", {}, rest)) : null,
  );
}
