// The waterfall of an explanation, in the place of the static one: its steps in the order that the reader wants, and those that are not shown
// to differ as one.
const FALL = { width: 748, left: 160, right: 208, top: 8, row: 30, bar: 18, foot: 44 };

// The steps that are drawn. What is folded is added up, so that all steps still lead from one total to the other.
function fallSteps(steps, isBySize, isFolded) {
  const unsure = steps.filter(({ kind }) => kind === "pinned");
  let shown = [...steps];
  if (isFolded && unsure.length > 1) {
    const by = unsure.reduce((sum, step) => sum + step.by, 0);
    shown = steps.filter(({ kind }) => kind !== "pinned");
    const words = (by < 0 ? "" : "+") + exact(Number(by.toPrecision(3)));
    shown.push({ name: `${unsure.length} not shown to differ`, by, span: null, kind: "pinned", words, interval: "" });
  }
  return isBySize ? shown.sort((a, b) => Math.abs(b.by) - Math.abs(a.by)) : shown;
}

// The rows from one total to the other: where each bar begins and ends, and the ends of its whisker.
function fallRows({ from, to }, steps) {
  const whole = (total) => ({ ...total, start: 0, end: total.value, kind: "unpinned" });
  let at = from.value;
  const rows = steps.map((step) => {
    const start = at;
    at += step.by;
    return { ...step, start, end: at, whisker: step.span && step.span.map((by) => start + by) };
  });
  return [whole(from), ...rows, { ...whole(to), whisker: to.span && to.span.map((by) => from.value + by) }];
}

// All that is reached; from 0 on where that leaves the steps half of the width, as case/drawings/waterfall.rs has it.
function fallRange(rows) {
  const isTotal = (i) => i === 0 || i === rows.length - 1;
  const reached = rows.flatMap(({ start, end, whisker }, i) => [...(isTotal(i) ? [end] : [start, end]), ...(whisker || [])]);
  const [least, high] = [Math.min(...reached), Math.max(...reached)];
  const room = high - least || Math.abs(high) || 1;
  let low = least - room / 3;
  if (low < room) low = Math.min(low, 0);
  if (least >= 0) low = Math.max(low, 0);
  return [low, high + room / 40];
}

function attachFall(frame, fall) {
  const space = frame.querySelector("svg").namespaceURI;
  const make = (tag, attributes, ...children) => {
    const made = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const said = element("p", { class: "caption", "aria-live": "polite" });
  const stage = element("div", { class: "drawing" });
  const state = { isBySize: false, isFolded: false };
  const line = (kind, x1, y1, x2, y2) => make("line", { class: kind, x1, y1, x2, y2 });
  const text = (kind, x, y, anchor, words) => make("text", { class: kind, x, y, "text-anchor": anchor }, words);
  const drawRow = (row, top, place, low) => {
    const [from, to] = [place(Math.max(row.start, low)), place(row.end)];
    const middle = top + FALL.row / 2;
    const words = `${row.name}: ${row.words} ${row.interval}`.trim();
    const group = make("g", { class: "row", tabindex: 0, role: "img", "aria-label": words }, make("title", {}, words));
    const bar = { x: Math.min(from, to), y: middle - FALL.bar / 2, width: Math.max(Math.abs(to - from), 1), height: FALL.bar };
    group.append(make("rect", { class: `bar ${row.kind}`, ...bar }));
    if (row.whisker) {
      const [a, b] = row.whisker.map(place);
      group.append(line("whisker", a, middle, b, middle), ...[a, b].map((x) => line("whisker", x, middle - 4, x, middle + 4)));
    }
    const column = FALL.width - FALL.right + 86;
    group.append(text("", FALL.left - 10, middle + 4, "end", row.name.length > 22 ? `${row.name.slice(0, 21)}\u2026` : row.name));
    group.append(text("", column, middle + 4, "end", row.words), text("tick", column + 10, middle + 4, "start", row.interval));
    const full = row.by === undefined ? exact(row.value) : exact(row.by);
    const tell = () => (said.textContent = `${words} (${full} ${fall.axis})`);
    ["focus", "pointerenter", "click"].forEach((event) => group.addEventListener(event, tell));
    return group;
  };
  const draw = () => {
    const rows = fallRows(fall, fallSteps(fall.steps, state.isBySize, state.isFolded));
    const [low, high] = fallRange(rows);
    const [right, bottom] = [FALL.width - FALL.right, FALL.top + FALL.row * rows.length];
    const place = (value) => FALL.left + ((value - low) / (high - low)) * (right - FALL.left);
    const drawing = make("svg", { viewBox: `0 0 ${FALL.width} ${bottom + FALL.foot}`, width: FALL.width, height: bottom + FALL.foot, role: "group", "aria-label": fall.title });
    for (const { at, text: label } of ticks("linear", low, high, 5)) {
      drawing.append(line("grid", place(at), FALL.top, place(at), bottom), text("tick", place(at), bottom + 16, "middle", label));
    }
    const axis = low > 0 ? `${fall.axis}; the axis does not begin at 0` : fall.axis;
    drawing.append(text("axis", right, bottom + 34, "end", axis));
    rows.forEach((row, i) => drawing.append(drawRow(row, FALL.top + FALL.row * i, place, low)));
    stage.replaceChildren(drawing);
  };
  const toggle = (words, name) => {
    const made = button(words, { "aria-pressed": "false" }, () => {
      state[name] = !state[name];
      made.setAttribute("aria-pressed", String(state[name]));
      draw();
    });
    return made;
  };
  const tools = element("p", { class: "tools" }, toggle("Largest first", "isBySize"), toggle("Fold what is not shown to differ", "isFolded"), flipOf(frame));
  frame.classList.add("viewed");
  frame.append(element("div", { class: "viewer" }, stage, said), tools);
  draw();
}
