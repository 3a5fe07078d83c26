// What explains the figures of a case: findings about slow CPUs, and where the server's time went in each arm.
import { command, cause } from "./diagnose.js";
import { element, figure, missingList, row, section, table } from "./dom.js";
import { counted, DASH, rounded, share, withUnit, words } from "./pure/figures.js";
import { basisUnit, LIMITS } from "./pure/verdicts.js";

const STEPS = [
  { name: "Server's time" },
  { name: "Against", number: true },
  { name: "Arm", number: true },
  { name: "Difference", number: true },
  { name: "95 % interval", number: true },
];

export function findings(all) {
  if (!all?.length) return null;
  return section("findings", "Findings", all.map(finding));
}

function finding(one) {
  const evidence = (one.evidence ?? []).map(({ what, bad, good, unit }) =>
    element("li", {}, `${what}: ${withUnit(bad, unit)} against ${withUnit(good, unit)} on the others`),
  );
  return element(
    "article",
    { class: "finding" },
    element("h3", {}, one.title, " ", element("span", { class: "tag" }, words(one.standing))),
    element("p", {}, one.claim),
    one.mechanism ? element("p", { class: "hint" }, one.mechanism) : null,
    evidence.length ? element("ul", {}, evidence) : null,
    one.agreement ? element("p", {}, one.agreement) : null,
    one.proof_words ? element("p", {}, one.proof_words) : null,
    one.remedy ? element("p", {}, element("strong", {}, "What to do: "), one.remedy) : null,
    (one.commands ?? []).map((line) => element("p", {}, command(line))),
    missingList(one.missing),
  );
}

// Every arm that was observed against the baseline, closed until it is asked for.
export function explained({ explanations, every_arm: everyArm }) {
  if (!explanations?.length && !everyArm?.causes?.length) {
    const remedy = "Blocks are observed with: pinwise study --observed N";
    const why = `No block of this case was observed, so where the server's time went is not known. ${remedy}`;
    return section("explain", "Explanation", element("p", { class: "hint" }, why));
  }
  return section("explain", "Explanation", inEveryArm(everyArm), (explanations ?? []).map(explanation));
}

function inEveryArm(everyArm) {
  const limits = Object.entries(everyArm?.limit_by_arm ?? {}).map(([arm, limit]) =>
    element("li", {}, `${arm}: ${LIMITS[limit] ?? LIMITS.unknown}`),
  );
  const causes = (everyArm?.causes ?? []).map(({ example }) => example && cause(example));
  return [
    limits.length ? element("details", {}, element("summary", {}, "Limit in each arm"), element("ul", {}, limits)) : null,
    causes.length
      ? element(
          "details",
          { open: true },
          element("summary", {}, "What costs every arm"),
          element("ol", { class: "causes" }, causes),
        )
      : null,
  ];
}

function explanation(one) {
  const unit = basisUnit(one.basis);
  const { frame, body } = table(`Server's time, ${unit}: ${one.arm} against ${one.against}`, STEPS);
  const { total, steps } = one.server ?? {};
  for (const step of [...(steps ?? []), total && { ...total, term: "in all" }].filter(Boolean))
    body.append(row(STEPS, timesOf(step, one.basis)));
  const rest =
    typeof one.unexplained_share === "number"
      ? element("p", { class: "hint" }, `Of what changed, ${share(one.unexplained_share)} is not explained.`)
      : null;
  return element(
    "details",
    {},
    element("summary", {}, `${one.arm} against ${one.against}`),
    one.claims?.length
      ? element(
          "ul",
          { class: "causes" },
          one.claims.map((each) => claim(each, one)),
        )
      : element("p", {}, "No mechanism differs by a share that matters."),
    frame,
    rest,
    element("p", { class: "hint" }, `By ${counted(one.blocks ?? 0, "observed block")}.`),
    missingList(one.missing),
  );
}

function timesOf({ term, from, to, interval }, basis) {
  const shown = basis === "window" ? share : rounded;
  const ends = Array.isArray(interval) ? `${signed(interval[0], shown)} to ${signed(interval[1], shown)}` : DASH;
  const isKnown = typeof from === "number" && typeof to === "number";
  return [
    words(term),
    figure(shown(from), "it was not observed"),
    figure(shown(to), "it was not observed"),
    figure(isKnown ? signed(to - from, shown) : DASH, "it was not observed"),
    figure(ends, "fewer than six observed blocks have both"),
  ];
}

const signed = (value, shown) => (value < 0 ? `\u2212${shown(-value)}` : `+${shown(value)}`);

function claim({ words: said, example, support, outweighed, own_work: ownWork }, { arm, against }) {
  const title = example?.claim ?? said;
  const more = [outweighed && "outweighed by the rest", ownWork && "the server's own work"].filter(Boolean).join("; ");
  const remedies = (example?.remedies ?? [])
    .slice(0, 1)
    .map(({ words: order }) => element("p", {}, element("strong", {}, "What to do: "), order));
  return element(
    "li",
    { "aria-label": `${arm} against ${against}` },
    element(
      "p",
      {},
      element("strong", {}, title),
      " ",
      element("span", { class: "tag" }, words(support)),
      more ? ` ${more}` : null,
    ),
    outweighed || ownWork ? null : remedies,
  );
}
