// Requests to the server, with the token. An EventSource and a plain link cannot carry it: everything goes through fetch.
import { tokenIn } from "./pure/address.js";
import { ofAnswer, ofNoAnswer, Problem } from "./pure/problem.js";

const KEPT = "pinwise-token";

// Takes the token out of the address, so that it stands in no bookmark, no history and no screenshot. It lasts as long as the tab.
export function takeToken() {
  const token = tokenIn(location.hash);
  if (token === null) return false;
  sessionStorage.setItem(KEPT, token);
  history.replaceState(null, "", location.pathname);
  return true;
}

function headers(more = {}) {
  const token = sessionStorage.getItem(KEPT);
  if (!token) {
    throw new Problem({
      object: "this page",
      cause: "it has no token, without which the server shows nothing",
      remedy: "open the whole address that 'pinwise serve' printed, with what follows the #",
      status: 401,
    });
  }
  return { Authorization: `Bearer ${token}`, ...more };
}

// The response; a Problem is thrown where there is none, or one that says no.
export async function request(path, options = {}, object = path) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: headers(options.headers), credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw ofNoAnswer(object, error);
  }
  if (response.ok) return response;
  throw ofAnswer(object, response.status, await response.json().catch(() => null));
}

export async function get(path, object = path, signal = undefined) {
  const response = await request(path, { signal }, object);
  return parsed(response, object);
}

export async function post(path, body, csrf, object = path) {
  const sent = { "Content-Type": "application/json", "X-Pinwise-CSRF": csrf };
  const response = await request(path, { method: "POST", headers: sent, body: JSON.stringify(body) }, object);
  return parsed(response, object);
}

async function parsed(response, object) {
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ object, cause: "the answer was cut off, or is not JSON", remedy: "try again" });
  }
}
