// The point nearest to a place of the picture.

// Place and distance (pixels) of the nearest point that is at most `reach` pixels away; undefined where there is none.
function nearest(xs, ys, view, x, y, reach) {
  const perX = view.width / (view.xs[1] - view.xs[0]);
  const perY = view.height / (view.ys[1] - view.ys[0]);
  const at = view.xs[0] + (x - view.left) / perX;
  const [from, to] = placesWithin(xs, Math.max(at - reach / perX, view.xs[0]), Math.min(at + reach / perX, view.xs[1]));
  let [place, least] = [-1, reach * reach];
  for (let i = from; i < to; i++) {
    const across = (xs[i] - at) * perX;
    const up = view.top + view.height - (ys[i] - view.ys[0]) * perY - y;
    const squared = across * across + up * up;
    if (squared <= least) [place, least] = [i, squared];
  }
  return place < 0 ? undefined : { place, distance: Math.sqrt(least) };
}
