// What stands behind the # of the address: first the token, then which view is shown. Pure.

export const VIEWS = ["machine", "cases", "case", "compare", "changes"];

// The token in a fragment, or null. It is the server's: letters and digits alone, so that it can stand in a header.
export function tokenIn(hash) {
  const found = /^#(?:.*&)?token=([0-9A-Za-z]{16,256})(?:&|$)/.exec(hash);
  return found ? found[1] : null;
}

// { view, ids } of a fragment; what is no view of ours is the first one.
export function routeOf(hash) {
  const [view, ...parts] = hash.replace(/^#/, "").split("/");
  if (!VIEWS.includes(view)) return { view: VIEWS[0], ids: [] };
  return { view, ids: parts.map(decoded).filter((id) => id !== "") };
}

// Ids of cases are paths: each is one part of the fragment, whatever is in it.
export const routeTo = (view, ids = []) => `#${[view, ...ids.map(encodeURIComponent)].join("/")}`;

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The path of the server's for a case, and for what belongs to it.
export const caseAt = (id, rest = "") => `/api/cases/${encodeURIComponent(id)}${rest}`;

export const compareAt = (ids) => `/api/compare?${ids.map((id) => `case=${encodeURIComponent(id)}`).join("&")}`;
