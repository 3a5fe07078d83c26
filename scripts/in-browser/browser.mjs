// A browser, and pages of it that note all that must not happen.
import { createRequire } from "node:module";
import { join } from "node:path";
import { check } from "./checks.mjs";

export function launch({ modules, chromium }) {
  const { chromium: driver } = createRequire(join(modules, "package.json"))("playwright-core");
  // What is set for other programs is no way to this machine itself.
  return driver.launch({ executablePath: chromium, args: ["--no-proxy-server"] });
}

// A window: { page, wide, done(what) }. `done` checks that nothing happened that must not, and closes it.
export async function open(browser, { url, token }, { width, height, colorScheme }) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  context.setDefaultTimeout(30_000);
  const seen = { errors: [], elsewhere: [], leaks: [] };
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
      console.error(`refused by the policy: ${effectiveDirective} ${blockedURI}`),
    );
  });
  context.on("console", (message) => {
    if (message.type() === "error" && !isForeseen(message)) seen.errors.push(`${message.text()} (${message.page()?.url()})`);
  });
  context.on("weberror", (error) => seen.errors.push(String(error.error())));
  context.on("request", (request) => {
    const asked = new URL(request.url());
    if (!["data:", "blob:"].includes(asked.protocol) && asked.host !== new URL(url).host) seen.elsewhere.push(request.url());
    if (`${asked.pathname}${asked.search}`.includes(token) || request.headers().referer) seen.leaks.push(request.url());
  });
  const page = await context.newPage();
  const done = async (what) => {
    check(`${what}: no error on the console, and nothing that the policy refuses`, seen.errors.length === 0, seen.errors);
    check(`${what}: no request to another host`, seen.elsewhere.length === 0, seen.elsewhere);
    check(`${what}: no address with the token, and no Referer`, seen.leaks.length === 0, seen.leaks);
    await context.close();
  };
  return { page, context, done };
}

// The browser says that it leaves out the style sheet that stands in a report: the page reads it and adopts it (page/report.js).
function isForeseen(message) {
  const address = message.page()?.url() ?? "";
  return /\/report\.html(#|$)/.test(address) && /inline style|style-src/i.test(message.text());
}

// Opens the address that the server printed, and waits for the picture of the machine.
export async function enter({ page }, { url, token }, what) {
  await page.goto(url);
  await page.locator(".tile").first().waitFor();
  const address = await page.evaluate(() => `${location.href} ${document.title} ${document.body.innerText}`);
  check(`${what}: the token is neither in the address nor on the page`, !address.includes(token), address.slice(0, 200));
}

export async function goTo({ page }, name) {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name: new RegExp(`^${name}`) }).waitFor();
}

// A picture of the whole page, which must not be wider than the window.
export async function picture({ page }, { look }, name) {
  await page.screenshot({ path: join(look, `${name}.png`), fullPage: true });
  const [has, fits] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  check(`${name}: nothing is wider than the window`, has <= fits, `${has} px in ${fits} px`);
}
