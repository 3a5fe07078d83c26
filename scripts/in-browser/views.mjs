// What is tried once.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { open, goTo, picture } from "./browser.mjs";
import { check, until } from "./checks.mjs";

// The last of the ten steps of the colour: 90 % and more.
const FULL = 9;

// The colour of a CPU follows what it does: a loop is run on it for a while.
export async function heatFollows({ page }, { busy_cpu: cpu }) {
  const step = () =>
    page.locator(`.tile[data-cpu="${cpu}"]`).evaluate((tile) => Number(/(?:^|\s)h(\d)(?:\s|$)/.exec(tile.className)?.[1] ?? NaN));
  const before = await step();
  const loop = spawn("taskset", ["-c", String(cpu), "sh", "-c", "while :; do :; done"], { stdio: "ignore" });
  try {
    await until(`CPU ${cpu} to be full`, async () => (await step()) === FULL);
    check(`CPU ${cpu} is drawn as full while a loop runs on it (step ${before} before)`, true);
    const summary = await page.locator(".summary").innerText();
    check("the sentence counts it", /\s[1-9]\d*\sat\s90\s% or more/.test(summary), summary);
  } finally {
    loop.kill("SIGKILL");
  }
  const rests = await until(`CPU ${cpu} to rest`, async () => (await step()) < FULL, 30_000).catch(() => false);
  // Others may keep it full, which the page is right to show.
  if (!rests && (await busy(cpu)) >= FULL / 10) return console.log(`skipped CPU ${cpu} at rest: others keep it full`);
  check(`CPU ${cpu} is not drawn as full when the loop has ended`, rests, `step ${await step()}`);
}

// The share of a second in which a CPU was not idle, by the kernel itself.
async function busy(cpu) {
  const counts = () => {
    const line = readFileSync("/proc/stat", "utf8").split("\n").find((one) => one.startsWith(`cpu${cpu} `));
    const columns = line.split(" ").slice(1, 9).map(Number);
    return { idle: columns[3] + columns[4], all: columns.reduce((sum, one) => sum + one, 0) };
  };
  const before = counts();
  await new Promise((done) => setTimeout(done, 1000));
  const after = counts();
  return 1 - (after.idle - before.idle) / (after.all - before.all);
}

export async function search({ page }, { cases }) {
  const rows = page.locator("main tbody tr");
  await page.getByLabel("Search by folder, server or host").fill(cases[1]);
  await until("one case", async () => (await rows.count()) === 1);
  check("the search finds the one case of that name", (await rows.first().innerText()).includes(cases[1]));
  await page.getByLabel("Search by folder, server or host").fill("no case is called so");
  await page.getByText("No case matches.").waitFor();
  await page.getByLabel("Search by folder, server or host").fill("");
  await until("every case", async () => (await rows.count()) === cases.length);
  check("the search shows all of them again when it is empty", true);
}

export async function compareTwo(seat, { cases }) {
  const { page } = seat;
  await goTo(seat, "Cases");
  const button = page.getByRole("button", { name: "Compare", exact: true });
  check("one case is not compared with anything", await button.isDisabled());
  for (const id of cases) await page.getByLabel(`Compare ${id}`, { exact: true }).check();
  await button.click();
  await page.locator("section[aria-labelledby=sides]").waitFor();
  const sides = await page.locator("section[aria-labelledby=sides] tbody tr").allInnerTexts();
  check("two cases are compared", sides.length === 2 && cases.every((id, at) => sides[at].includes(id)), sides);
  check("their arms are beside each other", (await page.locator("section[aria-labelledby=arms] tbody tr").count()) >= 2);
}

// The report opens in a tab of its own, with its style and its pictures.
export async function report({ page, context }, given, name) {
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: "Open the report" }).click();
  const tab = await opened;
  await tab.locator("h1, h2").first().waitFor();
  const found = await tab.evaluate(() => ({
    address: location.href,
    characters: document.body.innerText.length,
    drawings: document.querySelectorAll("svg").length,
    sheets: document.adoptedStyleSheets.length,
    scripts: document.querySelectorAll("body script").length,
  }));
  const isWhole = found.characters > 1000 && found.drawings > 0 && found.sheets > 0 && found.scripts === 0;
  check(`${name}: the report is shown`, isWhole && !found.address.includes(given.token), found);
  await picture({ page: tab }, given, name);
  await tab.close();
}

// Without the token there is nothing to see, and what to do about it is said.
export async function withoutToken(browser, given, window) {
  const seat = await open(browser, given, { ...window, colorScheme: "light" });
  await seat.page.goto(given.url.split("#")[0]);
  const problem = await seat.page.locator(".problem").first().innerText();
  const shown = await seat.page.locator(".tile, main table").count();
  check("without the token nothing is shown but what to do", shown === 0 && /pinwise serve/.test(problem), problem);
  await picture(seat, given, "no-token");
  await seat.done("without the token");
}
