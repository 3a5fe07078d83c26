// A change by the page: planned, applied, confirmed and undone; and one that nobody confirms. A process that sleeps is placed.
import { readFileSync } from "node:fs";
import { enter, goTo, open, picture } from "./browser.mjs";
import { check, until } from "./checks.mjs";

// The shortest time in which a change has to be confirmed, s.
const SHORTEST_S = 10;

export async function changing(browser, given) {
  const seat = await open(browser, given, { width: 1280, height: 800, colorScheme: "light" });
  const { page } = seat;
  const cpus = () => /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/${given.pid}/status`, "utf8"))[1];
  const before = cpus();
  const isBack = () => cpus() === before;
  await enter(seat, given, "changing");
  await goTo(seat, "Changes");
  check("nothing says that the page only reads", (await page.locator("#why-not").count()) === 0);
  await plan(seat, given);
  await picture(seat, given, "plan-1280-light");
  check("a plan changes nothing", isBack(), cpus());
  await confirmed(seat, given, cpus);
  await press(page, "Undo everything");
  await page.getByText(/^Undone: 1 act/).waitFor();
  check("an undo takes it back", isBack(), cpus());
  await page.getByText("Nothing of pinwise is in force.").waitFor();
  await forgotten(seat, given, cpus, isBack);
  await seat.done("changing");
}

const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

async function plan({ page }, { case: id, pid }) {
  await page.getByLabel("Case", { exact: true }).selectOption(id);
  await page.getByLabel("Server that the plan is for").fill(String(pid));
  await press(page, "Plan and dry run");
  await page.locator("h2#plan").waitFor();
  const rows = await page.locator("section[aria-labelledby=plan] tbody tr").allInnerTexts();
  check("the dry run shows the one setting", rows.length === 1 && rows[0].includes(`process-affinity of ${pid}`), rows);
}

async function apply({ page }, withinS) {
  await page.getByLabel("Undo unless confirmed within (s)").fill(String(withinS));
  await press(page, "Apply");
  await page.locator(".waiting-box").waitFor();
}

async function confirmed(seat, given, cpus) {
  const { page } = seat;
  await apply(seat, 300);
  check("the plan is in force", cpus() === "0", cpus());
  const clock = await page.locator(".waiting-box .clock").innerText();
  check("it counts down", /^[45]:[0-5]\d$/.test(clock), clock);
  check("it has the focus, and not the button that would keep it", await page.evaluate(() => document.activeElement.className === "waiting-box"));
  await picture(seat, given, "waiting-1280-light");
  await press(page, "Confirm: keep it");
  await page.getByText("Confirmed: the change stays until it is undone.").waitFor();
  check("what was confirmed stays", cpus() === "0", cpus());
  await page.getByRole("cell", { name: "as it was set" }).first().waitFor();
  await picture(seat, given, "in-force-1280-light");
}

// What nobody confirms goes by itself, and the page shows that.
async function forgotten(seat, given, cpus, isBack) {
  const { page } = seat;
  await plan(seat, given);
  await apply(seat, SHORTEST_S);
  check("the plan is in force again", cpus() === "0", cpus());
  await until("the revert", isBack, 60_000);
  await page.getByText("Nothing of pinwise is in force.").waitFor({ timeout: 60_000 });
  check("what nobody confirms is taken back, and the page says so", (await page.locator(".waiting-box").count()) === 0);
}
