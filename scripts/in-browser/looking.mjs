// The page of a server that changes nothing: every view, in every width and both colours; and by mouse and keys in one of them.
import { enter, goTo, open, picture } from "./browser.mjs";
import { check, until } from "./checks.mjs";
import { keyboard } from "./keyboard.mjs";
import { compareTwo, heatFollows, report, search, withoutToken } from "./views.mjs";

const WINDOWS = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
  { width: 2560, height: 1440 },
];

// The window in which all is tried; the others are looked at.
const isThorough = ({ width, colorScheme }) => width === 1280 && colorScheme === "light";

export async function looking(browser, given) {
  for (const window of WINDOWS) {
    const paper = {};
    for (const colorScheme of ["light", "dark"]) {
      paper[colorScheme] = await views(browser, given, { ...window, colorScheme });
    }
    check(`${window.width} px: dark is another colour than light`, paper.light !== paper.dark, paper);
  }
  await withoutToken(browser, given, WINDOWS[1]);
}

async function views(browser, given, window) {
  const what = `${window.width} px, ${window.colorScheme}`;
  const seat = await open(browser, given, window);
  await enter(seat, given, what);
  await machine(seat, given, what);
  await picture(seat, given, `machine-${window.width}-${window.colorScheme}`);
  if (isThorough(window)) {
    await heatFollows(seat, given);
    await keyboard(seat, "the machine", { hasTiles: true });
  }
  await cases(seat, given, what);
  await picture(seat, given, `cases-${window.width}-${window.colorScheme}`);
  if (isThorough(window)) {
    await search(seat, given);
    await keyboard(seat, "the cases");
    await compareTwo(seat, given);
    await picture(seat, given, `compare-${window.width}-${window.colorScheme}`);
  }
  await oneCase(seat, given, what);
  await picture(seat, given, `case-${window.width}-${window.colorScheme}`);
  if (isThorough(window)) await keyboard(seat, "a case");
  await report(seat, given, `report-${window.width}-${window.colorScheme}`);
  await changes(seat, what);
  await picture(seat, given, `changes-${window.width}-${window.colorScheme}`);
  if (isThorough(window)) await keyboard(seat, "the changes");
  const paper = await seat.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await seat.done(what);
  return paper;
}

async function machine({ page }, { cpus }, what) {
  const shown = await page.locator(".tile").evaluateAll((tiles) => tiles.map((tile) => Number(tile.dataset.cpu)));
  const without = cpus.filter((cpu) => !shown.includes(cpu));
  check(`${what}: a tile for each of ${cpus.length} CPUs, once`, !without.length && new Set(shown).size === shown.length, shown);
  await page.locator(".connection.live").waitFor();
  await until("figures of every CPU", async () => {
    const known = await page.locator(".tile:not(.unknown)").evaluateAll((tiles) => tiles.map((tile) => Number(tile.dataset.cpu)));
    return cpus.every((cpu) => known.includes(cpu));
  });
  check(`${what}: what each CPU does is known`, true);
}

async function cases(seat, given, what) {
  const { page } = seat;
  await goTo(seat, "Cases");
  const rows = await until("an answer of every case", async () => {
    const texts = await page.locator("main tbody tr").allTextContents();
    const isRead = texts.length >= given.cases.length && texts.every((text) => !text.includes("not been read yet"));
    return isRead ? texts : null;
  }, 60_000);
  const without = given.cases.filter((id) => !rows.some((text) => text.includes(id)));
  check(`${what}: every case is in the list`, rows.length === given.cases.length && !without.length, rows);
}

async function oneCase(seat, given, what) {
  const { page } = seat;
  await goTo(seat, "Cases");
  await page.locator("main").getByRole("link", { name: given.cases[0], exact: true }).click();
  await page.locator(".verdict .title").waitFor();
  const title = await page.locator(".verdict .title").innerText();
  check(`${what}: the case has an answer`, title.length > 20 && !/no answer/.test(title), title);
  const arms = await page.locator("section[aria-labelledby=arms] tbody tr").count();
  check(`${what}: the case has its arms`, arms >= 2, String(arms));
}

async function changes(seat, what) {
  const { page } = seat;
  await goTo(seat, "Changes");
  await page.getByRole("button", { name: "Plan and dry run" }).waitFor();
  const reason = await page.locator("#why-not").innerText();
  check(`${what}: the changes say why there are none`, /only reads/.test(reason) && /allow-changes/.test(reason), reason);
  const controls = await page.locator("main [aria-describedby=why-not]").evaluateAll((all) => all.map((one) => one.disabled));
  check(`${what}: what would change something is disabled, with that reason`, controls.length >= 2 && controls.every(Boolean), controls);
}
