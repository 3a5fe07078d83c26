// The picture of the CPUs: a tile each, within core, L3 domain, node and package; their heat, second by second.
import { button, element } from "./dom.js";
import { share } from "./pure/figures.js";
import { inWords, segments, stepOf } from "./pure/heat.js";
import { cachesOf, nested, partName, placeOf, sizeFor } from "./pure/topology.js";

// { picture, heat(cpus), mark(numbers), stale(isStale) }. `show` gets the words on the tile that is looked at.
export function tiles(machine, arranged, show) {
  const made = new Map();
  const last = new Map();
  const size = sizeFor(arranged.cpus.size);
  const group = (node) => {
    const first = firstCpu(node);
    const name = node.parts.map((part) => partName(part, part.kind === "l3" ? cachesOf(machine, first) : [])).join(" \u00b7 ");
    const inside = node.children
      ? element("div", { class: "inside" }, node.children.map(group))
      : element("div", { class: "cores" }, node.cores.map(coreOf));
    const label = name && element("p", { class: "group-name" }, name);
    return element(
      "div",
      { class: `group ${node.parts[0]?.kind ?? "all"}`, role: "group", "aria-label": name || "CPUs" },
      label,
      inside,
    );
  };
  const coreOf = (ids) => element("span", { class: "core" }, ids.map(tileOf));
  const tileOf = (id) => {
    const cpu = arranged.cpus.get(id);
    const states = [cpu.online === false && "offline", cpu.allowed === false && "barred"].filter(Boolean);
    const figure = size === "large" ? element("span", { class: "busy" }) : null;
    const number = size === "large" || size === "medium" ? element("span", { class: "id" }, String(id)) : null;
    const tile = button([number, figure], null, {
      class: ["tile", "unknown", ...states].join(" "),
      tabindex: "-1",
      "data-cpu": id,
      "aria-label": `CPU ${id}`,
    });
    made.set(id, { tile, figure, step: null, interrupts: 0, stolen: 0 });
    return tile;
  };
  const offline = arranged.offline.length
    ? element(
        "div",
        { class: "group offline", role: "group", "aria-label": "offline" },
        element("p", { class: "group-name" }, "offline"),
        element(
          "div",
          { class: "cores" },
          arranged.offline.map((id) => coreOf([id])),
        ),
      )
    : null;
  const help = "CPUs of the machine. Arrow keys move from one to the next.";
  const picture = element(
    "div",
    { class: `tiles ${size}`, role: "group", "aria-label": help },
    nested(arranged.bands).map(group),
    offline,
  );
  picture.querySelector(".tile")?.setAttribute("tabindex", "0");
  let looked = null;
  const words = (id) => `CPU ${id}: ${wordsOf(arranged.cpus.get(id), last.get(id))}`;
  listen(picture, (tile) => {
    looked = Number(tile.dataset.cpu);
    // Spoken once, on arrival: the line below the picture goes on with every second.
    tile.setAttribute("aria-label", words(looked));
    show(words(looked));
  });
  return {
    picture,
    heat(cpus) {
      last.clear();
      for (const cpu of cpus) last.set(cpu.cpu, cpu);
      for (const [id, state] of made) paint(state, last.get(id));
      if (looked !== null) show(words(looked));
    },
    mark(numbers) {
      for (const [id, { tile }] of made) tile.classList.toggle("marked", numbers.has(id));
    },
    stale: (isStale) => picture.classList.toggle("stale", isStale),
  };
}

const firstCpu = (node) => (node.children ? firstCpu(node.children[0]) : node.cores[0]?.[0]);

function wordsOf(cpu, second) {
  const place = placeOf(cpu);
  const where = place ? ` (${place})` : "";
  if (cpu.online === false) return `offline${where}`;
  const barred = cpu.allowed === false ? "; pinwise may not use it" : "";
  return `${inWords(second)}${where}${barred}`;
}

// Only what changed is written: a thousand tiles that rest cost nothing.
function paint(state, cpu) {
  const { tile, figure } = state;
  const step = stepOf(cpu?.busy);
  if (step !== state.step) {
    tile.classList.remove(state.step === null ? "unknown" : `h${state.step}`);
    tile.classList.add(step === null ? "unknown" : `h${step}`);
    state.step = step;
  }
  for (const [name, percent] of Object.entries(segments(cpu ?? {}))) {
    if (state[name] === percent) continue;
    // By the CSSOM: a style attribute would be refused by the content security policy.
    tile.style.setProperty(`--${name}-part`, `${percent}%`);
    state[name] = percent;
  }
  const text = share(cpu?.busy);
  if (figure && figure.textContent !== text) figure.textContent = text;
}

function listen(picture, look) {
  const tileAt = (event) => event.target.closest?.(".tile");
  for (const type of ["pointerover", "focusin", "click"]) {
    picture.addEventListener(type, (event) => {
      const tile = tileAt(event);
      if (tile) look(tile);
    });
  }
  picture.addEventListener("keydown", (event) => {
    const tile = tileAt(event);
    const next = tile && nextTile([...picture.querySelectorAll(".tile")], tile, event.key);
    if (!next) return;
    event.preventDefault();
    tile.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}

function nextTile(all, tile, key) {
  const at = all.indexOf(tile);
  if (key === "ArrowRight") return all[at + 1];
  if (key === "ArrowLeft") return all[at - 1];
  if (key === "Home") return all[0];
  if (key === "End") return all[all.length - 1];
  if (key !== "ArrowDown" && key !== "ArrowUp") return undefined;
  const way = key === "ArrowDown" ? 1 : -1;
  return nearestBelow(all, tile, way);
}

// The nearest tile of the next line of tiles in that direction.
function nearestBelow(all, tile, way) {
  const from = tile.getBoundingClientRect();
  let best;
  for (const other of all) {
    const box = other.getBoundingClientRect();
    const down = (box.top - from.top) * way;
    if (down < 2) continue;
    const key = [Math.round(down), Math.abs(box.left - from.left)];
    if (!best || key[0] < best.key[0] || (key[0] === best.key[0] && key[1] < best.key[1])) best = { key, other };
  }
  return best?.other;
}
