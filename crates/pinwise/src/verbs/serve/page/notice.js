// Problems and waiting, as they are shown.
import { button, element } from "./dom.js";

// A problem with a way to try again.
export function problemBox(problem, again = null) {
  const remedy = problem.remedy ? element("p", {}, element("strong", {}, "What to do: "), problem.remedy) : null;
  return element(
    "div",
    { class: "problem", role: "alert" },
    element("p", {}, element("strong", {}, problem.object), ": ", problem.cause),
    remedy,
    again && button("Try again", again),
  );
}

// What a drawing answers where that which is there still holds.
export const UNCHANGED = Symbol("unchanged");

// Fills a place by what is fetched: words while it is on its way, the problem where it fails. Answers whether it was shown.
export async function fill(place, what, load, draw) {
  const note = element("p", { class: "waiting" }, `Loading ${what}\u2026`);
  if (!place.hasChildNodes()) place.replaceChildren(note);
  place.setAttribute("aria-busy", "true");
  try {
    const drawn = draw(await load());
    if (drawn !== UNCHANGED) replace(place, [drawn].flat().filter(Boolean));
    return true;
  } catch (error) {
    if (error.name === "AbortError") return false;
    if (!("remedy" in error)) throw error;
    place.replaceChildren(
      problemBox(error, () => {
        place.replaceChildren();
        fill(place, what, load, draw);
      }),
    );
    return false;
  } finally {
    place.removeAttribute("aria-busy");
  }
}

// What was opened by hand stays open when it is drawn again.
function replace(place, drawn) {
  const named = (details) => details.querySelector("summary")?.textContent ?? "";
  const open = new Set([...place.querySelectorAll("details[open]")].map(named));
  place.replaceChildren(...drawn);
  for (const details of place.querySelectorAll("details")) if (open.has(named(details))) details.open = true;
}
