// The marks of points; their shapes say what an arm is without colour, as case/drawings/order.rs has them.

// Corners, in radii; what has none is round.
const SHAPES = {
  slow: [[0, 1.35], [-1.35, -1], [1.35, -1]],
  fast: [[0, -1.35], [-1.35, 1], [1.35, 1]],
  unpinned: [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]],
  control: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
};

function addMark(pen, kind, x, y, radius) {
  const corners = SHAPES[kind];
  if (!corners) {
    pen.moveTo(x + radius * 0.85, y);
    pen.arc(x, y, radius * 0.85, 0, 7);
    return;
  }
  corners.forEach(([right, down], i) => pen[i ? "lineTo" : "moveTo"](x + right * radius, y + down * radius));
  pen.closePath();
}

// Each point by itself.
function drawMarks(pen, series, from, to, place, radius) {
  pen.beginPath();
  for (let i = from; i < to; i++) {
    addMark(pen, series.kind, place.x(series.xs[i]), place.y(series.ys[i]), radius);
  }
  if (series.kind === "unpinned") pen.stroke();
  else pen.fill();
}

// Columns: from the least to the greatest value in pale colour, and both ends in full.
function drawColumns(pen, { least, most }, view, place) {
  const each = view.width / least.length;
  const bars = new Path2D();
  const ends = new Path2D();
  for (let column = 0; column < least.length; column++) {
    if (least[column] > most[column]) continue;
    const [x, top, bottom] = [view.left + column * each, place.y(most[column]), place.y(least[column])];
    bars.rect(x, top, each, bottom - top);
    ends.rect(x, top - 1, each, 2);
    ends.rect(x, bottom - 1, each, 2);
  }
  pen.globalAlpha = 0.35;
  pen.fill(bars);
  pen.globalAlpha = 1;
  pen.fill(ends);
}

// A line through the points, or through the columns where there are far more points than columns.
function drawLine(pen, series, [from, to], columns, view, place) {
  pen.beginPath();
  if (to - from <= 4 * columns.least.length) {
    // One more on either side, so that the line reaches the edge.
    for (let i = Math.max(from - 1, 0); i < Math.min(to + 1, series.xs.length); i++) {
      pen.lineTo(place.x(series.xs[i]), place.y(series.ys[i]));
    }
  } else {
    const each = view.width / columns.least.length;
    columns.least.forEach((least, column) => {
      if (least > columns.most[column]) return;
      pen.lineTo(view.left + (column + 0.5) * each, place.y(least));
      pen.lineTo(view.left + (column + 0.5) * each, place.y(columns.most[column]));
    });
  }
  pen.stroke();
}
