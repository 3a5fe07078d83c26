// One picture on its canvas: bands, axes, points, notes.

const MARGIN = { left: 70, right: 12, top: 30, bottom: 40 };
const FONT = "12px system-ui, sans-serif";
// More marks than this are not distinguished; they become columns.
const MOST_MARKS = 20000;
// What stands out is drawn last, over the rest.
const ORDER = ["pinned", "control", "fast", "unpinned", "slow"];

// The colours of the page at this moment, which dark mode changes.
function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim() || "#888";
}

// Which points are within the range, by series; those of lines by columns of their own, those of dots by columns of their kind.
function readColumns(shown, dots, [low, high], width) {
  const byKind = new Map();
  return shown.map((series) => {
    const [from, to] = placesWithin(series.xs, low, high);
    const own = (dots && byKind.get(series.kind)) || emptyColumns(width);
    byKind.set(series.kind, own);
    addToColumns(own, series.xs, series.ys, from, to, low, high);
    return { series, from, to, columns: own };
  });
}

// The range of the y axis: all that is seen, and some room.
function rangeOf(parts, levels) {
  let [low, high] = [Infinity, -Infinity];
  for (const { columns } of parts) {
    for (let i = 0; i < columns.least.length; i++) {
      if (columns.least[i] < low) low = columns.least[i];
      if (columns.most[i] > high) high = columns.most[i];
    }
  }
  for (const [, , y] of levels) [low, high] = [Math.min(low, y), Math.max(high, y)];
  if (low > high) return [0, 1];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.02 || 1;
  return [low - room, high + room];
}

// Draws; gives back where everything stands, for the pointer.
function paint(canvas, plot, range) {
  const began = performance.now();
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const view = {
    left: MARGIN.left,
    top: MARGIN.top,
    width: Math.max(width - MARGIN.left - MARGIN.right, 40),
    height: Math.max(height - MARGIN.top - MARGIN.bottom, 40),
    xs: range,
  };
  const shown = plot.series.filter((series) => series.on);
  const parts = readColumns(shown, plot.marks === "dots", range, Math.round(view.width));
  parts.sort((a, b) => ORDER.indexOf(a.series.kind) - ORDER.indexOf(b.series.kind));
  const levels = plot.levels.filter(([from, to]) => to >= range[0] && from <= range[1]);
  view.ys = rangeOf(parts, shown.length > 0 ? levels : []);
  const place = (view.place = {
    x: (unit) => view.left + ((unit - view.xs[0]) / (view.xs[1] - view.xs[0])) * view.width,
    y: (unit) => view.top + view.height - ((unit - view.ys[0]) / (view.ys[1] - view.ys[0])) * view.height,
  });
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = FONT;
  const colour = colours();
  paintFrame(pen, plot, view, place, colour);
  pen.save();
  pen.beginPath();
  pen.rect(view.left, view.top, view.width, view.height);
  pen.clip();
  paintLevels(pen, levels, place, colour);
  paintParts(pen, plot, parts, view, place, colour);
  paintNotes(pen, plot.notes, view, place, colour);
  pen.restore();
  performance.measure("pinwise-draw", { start: began });
  return view;
}

// Bands, grid, labels and the names of the axes.
function paintFrame(pen, plot, view, place, colour) {
  const [right, bottom] = [view.left + view.width, view.top + view.height];
  pen.fillStyle = colour("block");
  for (const band of plot.bands) {
    const [from, to] = band.map((unit) => Math.min(Math.max(place.x(unit), view.left), right));
    pen.fillRect(from, view.top, to - from, view.height);
  }
  pen.strokeStyle = colour("line");
  pen.fillStyle = colour("soft");
  pen.lineWidth = 1;
  pen.beginPath();
  pen.textAlign = "center";
  for (const { at, text } of ticks(plot.x.spread, ...view.xs, Math.max(Math.floor(view.width / 90), 2))) {
    const x = place.x(at);
    pen.moveTo(x, view.top);
    pen.lineTo(x, bottom);
    pen.fillText(text, x, bottom + 16);
  }
  pen.textAlign = "right";
  for (const { at, text } of ticks(plot.y.spread, ...view.ys, 6)) {
    const y = place.y(at);
    pen.moveTo(view.left, y);
    pen.lineTo(right, y);
    pen.fillText(text, view.left - 6, y + 4);
  }
  pen.stroke();
  pen.font = `600 ${FONT}`;
  pen.fillText(plot.x.name, right, bottom + 34);
  pen.textAlign = "left";
  pen.fillText(plot.y.name, 0, view.top - 12);
  pen.font = FONT;
}

function paintLevels(pen, levels, place, colour) {
  pen.strokeStyle = colour("pinned");
  pen.lineWidth = 1.6;
  pen.beginPath();
  for (const [from, to, y] of levels) {
    pen.moveTo(place.x(from), place.y(y));
    pen.lineTo(place.x(to), place.y(y));
  }
  pen.stroke();
}

function paintParts(pen, plot, parts, view, place, colour) {
  const count = parts.reduce((sum, { from, to }) => sum + to - from, 0);
  const drawn = new Set();
  pen.lineJoin = "round";
  for (const { series, from, to, columns } of parts) {
    pen.strokeStyle = pen.fillStyle = colour(series.kind);
    pen.lineWidth = series.kind === "pinned" ? 1.2 : 2;
    if (plot.marks === "line") {
      pen.setLineDash({ unpinned: [7, 3], control: [2, 3] }[series.kind] || []);
      drawLine(pen, series, [from, to], columns, view, place);
      pen.setLineDash([]);
    } else if (count <= MOST_MARKS) {
      drawMarks(pen, series, from, to, place, count > 400 ? 2.4 : 3.6);
    } else if (!drawn.has(columns)) {
      drawn.add(columns);
      drawColumns(pen, columns, view, place);
    }
  }
}

// Where something happened, with its words on the side that has room.
function paintNotes(pen, notes, view, place, colour) {
  pen.strokeStyle = colour("soft");
  pen.fillStyle = colour("ink");
  pen.lineWidth = 1;
  pen.setLineDash([3, 3]);
  for (const { at, words } of notes) {
    const x = place.x(at);
    if (x < view.left || x > view.left + view.width) continue;
    pen.beginPath();
    pen.moveTo(x, view.top);
    pen.lineTo(x, view.top + view.height);
    pen.stroke();
    const isRight = x > view.left + view.width / 2;
    pen.textAlign = isRight ? "right" : "left";
    pen.fillText(words, isRight ? x - 5 : x + 5, view.top + 12);
  }
  pen.setLineDash([]);
}
