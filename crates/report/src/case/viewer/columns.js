// Points by column of pixels: whatever their number, what is drawn is the least and the greatest value of each column.

// The first place of a sorted list from which on it is so.
function firstWhere(sorted, isSo) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isSo(sorted[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Places of the points within low..high: the first, and the one behind the last.
function placesWithin(sorted, low, high) {
  return [firstWhere(sorted, (one) => one >= low), firstWhere(sorted, (one) => one > high)];
}

function emptyColumns(width) {
  return { least: new Float64Array(width).fill(Infinity), most: new Float64Array(width).fill(-Infinity) };
}

// Adds the points from place `from` to before `to`, whose xs lie within low..high, to the columns.
function addToColumns({ least, most }, xs, ys, from, to, low, high) {
  const last = least.length - 1;
  const by = least.length / (high - low);
  for (let i = from; i < to; i++) {
    const column = Math.min(((xs[i] - low) * by) | 0, last);
    const y = ys[i];
    if (y < least[column]) least[column] = y;
    if (y > most[column]) most[column] = y;
  }
}
