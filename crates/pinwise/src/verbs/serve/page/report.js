// The report of a case, in a tab of its own.
//
// A link to the report itself cannot work, since a link carries no token, and the policy of the page allows no frame. A blob: URL of
// what fetch brought would open, but a document of a blob inherits the policy of the page that made it (HTML, policy containers), which
// refuses the report's style sheet and script, because both stand inside of it. So this page, whose address is the server's own, fetches
// the report and takes its contents over piece by piece: elements and attributes of a list, text as text, the style sheet by the CSSOM.
// The browser notes on its console that it refused the style sheet within what was parsed. The report's script is left behind; the
// pictures are there without it, and a report that is saved as a file has it.
import { request } from "./api.js";
import { caseAt, routeOf } from "./pure/address.js";
import { problemBox } from "./notice.js";
import { allowed } from "./pure/taken_over.js";

const [id = ""] = routeOf(location.hash).ids;

async function begin() {
  try {
    const response = await request(caseAt(id, "/report.html"), {}, `the report of ${id}`);
    put(new DOMParser().parseFromString(await response.text(), "text/html"));
  } catch (error) {
    if (!("remedy" in error)) throw error;
    document.body.replaceChildren(problemBox(error));
  }
}

function put(report) {
  const sheets = [...report.querySelectorAll("style")].map((style) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style.textContent);
    return sheet;
  });
  document.adoptedStyleSheets = sheets;
  document.title = report.title || document.title;
  document.body.replaceChildren(...[...report.body.childNodes].map(takenOver).filter(Boolean));
  // Links within the report go to its parts: the fragment names the case here, so they scroll instead.
  document.body.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    document.getElementById(link.getAttribute("href").slice(1))?.scrollIntoView();
  });
}

// A copy of what may stand here, made anew; null for everything else.
function takenOver(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE || !allowed.element(node.localName)) return null;
  const copy = document.createElementNS(node.namespaceURI, node.localName);
  for (const { name, value } of node.attributes) if (allowed.attribute(name, value)) copy.setAttribute(name, value);
  copy.append(...[...node.childNodes].map(takenOver).filter(Boolean));
  return copy;
}

begin();
