// All can be reached by keys, and one sees where one is.
import { check } from "./checks.mjs";

// Steps after which a walk that has not come round is given up.
const MOST_STEPS = 400;

// Walks once through a view by Tab. Of the tiles and of rows that go by the arrow keys, one each can be reached.
export async function keyboard({ page }, what, { hasTiles = false } = {}) {
  const names = await page.evaluate(mark);
  const unseen = new Set();
  for (let step = 0; step < MOST_STEPS; step += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(arrive);
    if (at.isRound) break;
    if (!at.isSeen) unseen.add(at.name);
  }
  const missed = await page.evaluate(left);
  check(`${what}: Tab reaches each of ${names.length} controls`, names.length > 4 && missed.length === 0, missed);
  check(`${what}: one sees which control has the focus`, unseen.size === 0, [...unseen]);
  if (hasTiles) await arrows(page, what);
}

async function arrows(page, what) {
  await page.locator(".tile[tabindex='0']").focus();
  const number = () => page.evaluate(() => document.activeElement.dataset.cpu);
  const first = await number();
  await page.keyboard.press("ArrowRight");
  const next = await number();
  const isMoved = next !== first || (await page.locator(".tile").count()) === 1;
  check(`${what}: the arrow keys go from CPU to CPU`, next !== undefined && isMoved, `${first} to ${next}`);
  const detail = await page.locator(".detail").innerText();
  check(`${what}: the figures of that CPU are in words`, detail.startsWith(`CPU ${next}:`) && /busy|offline|known/.test(detail), detail);
}

// The three run in the page. Controls that are there when the walk begins are to be reached, unless they are gone by its end.
function mark() {
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true });
  const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]");
  const reachable = [...all].filter((one) => one.tabIndex >= 0 && !one.disabled && isShown(one));
  const nameOf = (one) => `${one.localName} ${one.id || one.getAttribute("aria-label") || one.textContent.trim().slice(0, 40)}`;
  globalThis.walk = { reachable, reached: new Set(), nameOf, isShown };
  document.activeElement?.blur();
  getSelection().removeAllRanges();
  // The walk begins at the top, wherever the last click was.
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
  return reachable.map(nameOf);
}

function arrive() {
  const { walk } = globalThis;
  const at = document.activeElement;
  const isRound = at === document.body || at === null || walk.reached.has(at);
  if (isRound) return { isRound };
  walk.reached.add(at);
  const style = getComputedStyle(at);
  const isSeen = style.outlineStyle !== "none" || style.boxShadow !== "none";
  return { isRound, isSeen, name: walk.nameOf(at) };
}

function left() {
  const { reachable, reached, nameOf, isShown } = globalThis.walk;
  // Where rows are put into another order, the one that Tab can reach may be another one by now.
  return reachable.filter((one) => one.isConnected && one.tabIndex >= 0 && isShown(one) && !reached.has(one)).map(nameOf);
}
