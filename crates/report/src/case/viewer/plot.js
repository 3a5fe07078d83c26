// A picture to look into, in the place of the static one, which stays for print and a click away.
const REACH = 24;

// Places in units of the axes, once: drawing only reads them.
function prepared(plot) {
  const [x, y] = [SPREADS[plot.x.spread].to, SPREADS[plot.y.spread].to];
  const units = (values, to) => {
    const made = new Float64Array(values.length);
    for (let i = 0; i < values.length; i++) made[i] = to(values[i]);
    return made;
  };
  const series = plot.series.map((one) => ({ ...one, on: true, xs: units(one.x, x), ys: units(one.y, y) }));
  const bands = plot.bands.map((band) => band.map(x));
  const levels = plot.levels.map(([from, to, level]) => [x(from), x(to), y(level)]);
  const notes = plot.notes.map(({ at, words }) => ({ at: x(at), words }));
  return { ...plot, series, bands, levels, notes };
}

// From the first to the last point, with room on both sides.
function wholeOf(series) {
  const low = Math.min(...series.map(({ xs }) => xs[0]));
  const high = Math.max(...series.map(({ xs }) => xs[xs.length - 1]));
  const room = (high - low) * 0.01 || 0.5;
  return [low - room, high + room];
}

// The nearest point of all series that are on.
function nearestOf(plot, view, x, y) {
  let best;
  for (const series of plot.series.filter(({ on }) => on)) {
    const found = nearest(series.xs, series.ys, view, x, y, REACH);
    if (found && (!best || found.distance < best.distance)) best = { ...found, series };
  }
  return best;
}

// The point under the pointer, with its exact values.
function listenForHover(canvas, spot, tip, plot, state) {
  const hide = () => (spot.hidden = tip.hidden = true);
  const showNearest = (event) => {
    const { view } = state;
    const found = event.buttons === 0 && nearestOf(plot, view, event.offsetX, event.offsetY);
    if (!found) return hide();
    const { series, place } = found;
    const [x, y] = [view.place.x(series.xs[place]), view.place.y(series.ys[place])];
    spot.hidden = tip.hidden = false;
    [spot.style.left, spot.style.top] = [`${x}px`, `${y}px`];
    const at = `${plot.x.name} ${exact(series.x[place])}`;
    tip.replaceChildren(element("strong", {}, series.name), element("br"), at, element("br"));
    tip.append(`${exact(series.y[place])} ${plot.y.name}`);
    tip.style.top = `${y + 12}px`;
    tip.style.left = `${Math.max(Math.min(x + 12, canvas.clientWidth - tip.offsetWidth), 0)}px`;
  };
  canvas.addEventListener("pointerleave", hide);
  canvas.addEventListener("pointermove", showNearest);
  // A finger has no place above the picture: what it touches is shown.
  canvas.addEventListener("click", showNearest);
}

// The button that leads to the static picture and back.
function flipOf(frame) {
  const flip = button("Static picture", { "aria-pressed": "false" }, () => {
    const isViewed = frame.classList.toggle("viewed");
    flip.setAttribute("aria-pressed", String(!isViewed));
  });
  return flip;
}

// Puts the picture into its frame.
function attach(frame, data) {
  const plot = prepared(data);
  const whole = wholeOf(plot.series);
  const state = { whole, range: whole, view: undefined };
  const label = `${plot.title}. Keys: + and - zoom, arrows move, 0 shows the whole.`;
  const canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": label });
  const [band, spot, tip] = ["band", "spot", "tip"].map((name) => element("div", { class: name, hidden: "" }));
  let asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      spot.hidden = tip.hidden = true;
      if (canvas.clientWidth > 0) state.view = paint(canvas, plot, state.range);
    });
  };
  const show = (range) => {
    state.range = range;
    redraw();
  };
  const hint = "Drag or turn the wheel to zoom; double-click for the whole.";
  const stage = element("div", { class: "stage" }, canvas, band, spot, tip);
  const viewer = element("div", { class: "viewer" }, armButtons(plot.series, redraw), stage);
  const tools = element("p", { class: "tools" }, button("Whole", {}, () => show(whole)), flipOf(frame), csvLink(plot), hint);
  frame.classList.add("viewed");
  frame.append(viewer, tools);
  listen(canvas, band, state, show);
  listenForHover(canvas, spot, tip, plot, state);
  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
