// A diagnosis of a process on request: a window of it, judged by the rules of 'pinwise diagnose'.
import { get } from "./api.js";
import { button, element, missingList, section } from "./dom.js";
import { grouped, share } from "./pure/figures.js";
import { problemBox } from "./notice.js";
import { applyCommand } from "./pure/shell.js";
import { LIMITS } from "./pure/verdicts.js";

const USUAL_S = 10;

export function diagnoseSection() {
  const name = element("input", {
    id: "process",
    name: "process",
    maxlength: "256",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "none",
  });
  const length = element("input", {
    id: "for",
    name: "for",
    type: "number",
    min: "1",
    max: "30",
    step: "1",
    value: USUAL_S,
    required: true,
  });
  const go = element("button", { type: "submit" }, "Diagnose");
  const answer = element("div", { class: "answer", "aria-live": "polite" });
  const form = element(
    "form",
    {
      class: "ask",
      // The policy of the page refuses that a form is sent: this one never is.
      onsubmit: (event) => {
        event.preventDefault();
        run(name.value.trim(), Number(length.value), go, answer);
      },
    },
    element("label", { for: "process" }, "Process, unit, container or guest"),
    name,
    element("label", { for: "for" }, "Window, s"),
    length,
    go,
  );
  const hint =
    "By name or number: nginx, 4711, shop/web-7d9f; without one, the whole machine. " +
    "It is watched for the window, and what costs it time is listed.";
  return section("diagnose", "Diagnose a process, or the machine", element("p", { class: "hint" }, hint), form, answer);
}

async function run(process, forS, go, answer) {
  const what = process || "the machine";
  go.disabled = true;
  answer.replaceChildren(element("p", { class: "waiting" }, `Watching ${what} for ${forS} s\u2026`));
  try {
    const named = process ? `process=${encodeURIComponent(process)}&` : "";
    const path = `/api/diagnose?${named}for_s=${forS}`;
    answer.replaceChildren(...draw(await get(path, `the diagnosis of ${what}`)).filter(Boolean));
  } catch (error) {
    if (!("remedy" in error)) throw error;
    answer.replaceChildren(problemBox(error));
  } finally {
    go.disabled = false;
  }
}

function draw(found) {
  const { server, pids, window_s: windowS, limit, causes, own_work: ownWork, observer, missing } = found;
  const head = element(
    "p",
    {},
    element("strong", {}, server ?? "the machine"),
    pids?.length ? ` (${grouped(pids.length)} ${pids.length === 1 ? "process" : "processes"})` : "",
    typeof windowS === "number" ? `, ${windowS.toFixed(1)} s: ` : ": ",
    // A machine as a whole has no limit of its own.
    pids?.length ? (LIMITS[limit] ?? LIMITS.unknown) : "all CPUs were watched",
  );
  const none = element("p", {}, "No cause was found that takes a share that matters.");
  const all = causes?.length ? element("ol", { class: "causes" }, causes.map(cause)) : none;
  const own = ownWork?.length
    ? element("p", {}, "Its own work: ", ownWork.map(({ what, share: part }) => `${what} (${share(part)})`).join("; "), ".")
    : null;
  const cost =
    typeof observer === "number" ? element("p", { class: "hint" }, `Looking took ${share(observer)} of its time.`) : null;
  return [head, all, own, cost, missingList(missing)];
}

// Of which time the share of a cause is one, after the share.
const SHARE_OF = { active_time: " of active time", all_time: " of all time", window: " of the window" };

// A cause with its evidence and remedies; also that of a study, as its example.
export function cause({ claim, share: part, share_of: time, share_at_most: most, evidence, remedies }) {
  const isKnown = typeof part === "number" || typeof most === "number";
  const of = SHARE_OF[time] ?? "";
  const size = typeof part === "number" ? `${share(part)}${of}` : `at most ${share(most)}${of}`;
  return element(
    "li",
    {},
    element(
      "p",
      {},
      element("strong", {}, claim),
      " ",
      isKnown ? element("span", { class: "tag" }, size) : null,
      isKnown ? null : " What it costs was not measured.",
    ),
    evidence?.length
      ? element(
          "ul",
          {},
          evidence.map((line) => element("li", {}, line)),
        )
      : null,
    remedies?.length ? element("ul", { class: "remedies" }, remedies.map(remedy)) : null,
  );
}

function remedy({ words, setting }) {
  return element("li", {}, words, setting ? command(applyCommand(setting)) : null);
}

// A command to copy.
export function command(text) {
  const copy = button(
    "Copy",
    () =>
      navigator.clipboard?.writeText(text).then(
        () => {
          copy.textContent = "Copied";
          setTimeout(() => (copy.textContent = "Copy"), 2000);
        },
        () => (copy.textContent = "Not copied"),
      ),
    { "aria-label": `Copy the command ${text}` },
  );
  return element("span", { class: "command" }, element("code", {}, text), navigator.clipboard ? copy : null);
}
