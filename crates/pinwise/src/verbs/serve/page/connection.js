// The state of the stream of live figures, in the head of the page. It is spoken when it changes, not each second.
import { button, element } from "./dom.js";

const WORDS = {
  connecting: "Connecting\u2026",
  live: "Live",
  resting: "Resting: the page is not being looked at",
};

let shown = "";
let timer = 0;
let said = "";
let until = 0;

// Without a state the place is emptied. A problem is shown with its remedy and, where waiting helps, with the time of the next try.
export function connection(again = null, state = "", problem = null, waitS = 0) {
  const place = document.getElementById("connection");
  until = performance.now() + waitS * 1000;
  const words = problem ? `Live figures stopped: ${problem.cause}. What to do: ${problem.remedy}.` : (WORDS[state] ?? "");
  // Every second of a stream that is well says so again, and so does every try that fails: what is shown already is not spoken anew.
  if (state === shown && words === said) return;
  if (state === "connecting" && shown === "waiting") return;
  [shown, said] = [state, words];
  clearInterval(timer);
  place.className = `connection ${state}`;
  place.replaceChildren(words);
  if (state === "waiting") retrying(place, again);
}

function retrying(place, again) {
  // Outside of what is spoken: it changes each second.
  const left = element("span", { "aria-hidden": "true" });
  const count = () => {
    const seconds = Math.max(Math.ceil((until - performance.now()) / 1000), 0);
    left.textContent = seconds > 0 ? ` Next try in ${seconds} s. ` : " Trying again\u2026 ";
  };
  count();
  timer = setInterval(count, 1000);
  place.append(element("span", { class: "unseen" }, " It is tried again by itself. "), left, button("Try now", again));
}
