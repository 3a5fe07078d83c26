// The part of the x axis that is shown: [low, high] in units of the axis, within the whole.
const LEAST_SHARE = 1e-7;

// Moved into the whole, as wide as it was where that fits.
function held([low, high], [first, last]) {
  const whole = last - first;
  const width = Math.min(Math.max(high - low, whole * LEAST_SHARE), whole);
  const start = Math.min(Math.max(low, first), last - width);
  return [start, start + width];
}

// `factor` times as wide, with `about` where it was.
function zoomed([low, high], whole, about, factor) {
  return held([about - (about - low) * factor, about + (high - about) * factor], whole);
}

// Moved by a share of its own width.
function moved([low, high], whole, share) {
  const by = (high - low) * share;
  return held([low + by, high + by], whole);
}
