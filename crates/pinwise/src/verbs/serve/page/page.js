// Begins: takes the token out of the address, asks what may be done here, and shows the view that the address names.
import { get, takeToken } from "./api.js";
import { element } from "./dom.js";
import { problemBox } from "./notice.js";
import { routeOf } from "./pure/address.js";
import { show as showCase } from "./case.js";
import { show as showCases } from "./cases.js";
import { show as showChanges } from "./changes.js";
import { show as showCompare } from "./compare.js";
import { show as showMachine } from "./machine.js";

const SHOW = { machine: showMachine, cases: showCases, case: showCase, compare: showCompare, changes: showChanges };
const TITLES = { machine: "Machine", cases: "Cases", case: "Case", compare: "Comparison", changes: "Changes" };
// The entry of the navigation that a view belongs to.
const UNDER = { case: "cases", compare: "cases" };

const main = document.getElementById("main");
let session = null;
let leave = () => {};

async function begin() {
  leave();
  leave = () => {};
  try {
    session = await get("/api/session", "the session");
  } catch (error) {
    if (!("remedy" in error)) throw error;
    main.replaceChildren(problemBox(error, begin));
    return;
  }
  document.getElementById("host").textContent = session.host ?? "";
  document.getElementById("foot").textContent =
    `pinwise ${session.version ?? ""}, cases in ${session.dir ?? "the folder that is served"}`;
  route(false);
}

function route(isMove) {
  const { view, ids } = routeOf(location.hash);
  leave();
  leave = () => {};
  for (const link of document.querySelectorAll("nav a")) {
    const isHere = link.dataset.view === (UNDER[view] ?? view);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = [ids[0], TITLES[view], session.host, "pinwise"].filter(Boolean).join(" - ");
  main.className = `view-${view}`;
  leave = SHOW[view](main, session, ids);
  if (!isMove) return;
  scrollTo(0, 0);
  main.querySelector("h1")?.focus();
}

addEventListener("hashchange", () => {
  // The address of another start of the server was put into this tab.
  if (takeToken() || session === null) begin();
  else route(true);
});
// The fragment says which view is shown: this link must not change it.
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
// What no code foresaw is shown as well: a page that stands still without a word would be taken for a machine that does.
addEventListener("unhandledrejection", ({ reason }) => unforeseen(reason));
addEventListener("error", ({ error, message }) => unforeseen(error ?? message));

function unforeseen(reason) {
  const problem = {
    object: "this page",
    cause: `an error in its own code (${reason?.message ?? reason})`,
    remedy: "reload it; if that does not help, please report it",
  };
  main.querySelector(":scope > .unforeseen")?.remove();
  main.prepend(element("div", { class: "unforeseen" }, problemBox(problem)));
}

takeToken();
begin();
