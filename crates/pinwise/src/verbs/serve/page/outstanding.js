// What is in force by the ledger: each session with its acts, as they were, were requested and read now.
import { element, figure, row, table } from "./dom.js";
import { problemBox } from "./notice.js";
import { ago, DASH } from "./pure/figures.js";

const COLUMNS = [{ name: "What", kind: "wide" }, { name: "Before" }, { name: "Changed to" }, { name: "Now" }, { name: "State" }];

export function outstanding(sessions) {
  const shown = sessions.filter(({ outstanding: acts, problems }) => acts?.length || problems?.length);
  if (shown.length === 0) return element("p", {}, "Nothing of pinwise is in force.");
  return shown.map(session);
}

function session(one) {
  const { frame, body } = table(`${one.purpose || "without a purpose"} (session ${one.session})`, COLUMNS);
  body.append(...one.outstanding.map((act) => row(COLUMNS, cells(act, one))));
  const when = typeof one.began_unix_s === "number" ? ago(Date.now() / 1000 - one.began_unix_s) : DASH;
  return element(
    "div",
    { class: "session" },
    element(
      "p",
      { class: "hint" },
      "Begun ",
      figure(when, "the ledger does not say"),
      owner(one),
      ".",
    ),
    one.outstanding.length ? frame : null,
    one.problems.map((fault) => problemBox(fault)),
  );
}

function owner(one) {
  if (one.being_undone) {
    const who = one.undone_by_pid === undefined ? "A second process" : `Process ${one.undone_by_pid}`;
    return `. ${who} is undoing it, since its own process has ended: wait for that`;
  }
  return one.owner_alive ? "; the process that made it runs" : "";
}

function cells(act, one) {
  const gone = one.before_this_boot ? "the machine was rebooted since" : "it is gone, or cannot be read";
  return [
    act.object,
    act.old,
    act.new,
    act.now === null || act.now === undefined ? figure(DASH, gone) : act.now,
    state(act, one),
  ];
}

function state(act, one) {
  if (one.before_this_boot) return "of an earlier boot";
  if (act.undo) return act.undo;
  if (act.changed_since === true) return "changed by another since";
  if (act.changed_since === false) return "as it was set";
  return figure(DASH, "whether another has changed it since cannot be seen");
}
