// What pointer, wheel and keys do to the range that a canvas shows. `state` has its view, range and whole; `show` sets a range.
const LEAST_DRAG = 5;

function listen(canvas, band, state, show) {
  const pointers = new Map();
  let start;
  const clampX = (x) => Math.min(Math.max(x, state.view.left), state.view.left + state.view.width);
  const unitAt = (x) => {
    const [low, high] = state.view.xs;
    return low + ((clampX(x) - state.view.left) / state.view.width) * (high - low);
  };
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return { about: unitAt((a + b) / 2), apart: Math.max(Math.abs(a - b), 10) };
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.offsetX);
    start = pointers.size === 1 ? clampX(event.offsetX) : undefined;
    band.hidden = true;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    const before = pointers.size === 2 && spread();
    pointers.set(event.pointerId, event.offsetX);
    if (before) return show(zoomed(state.range, state.whole, before.about, before.apart / spread().apart));
    if (start === undefined) return;
    const now = clampX(event.offsetX);
    band.hidden = Math.abs(now - start) < LEAST_DRAG;
    band.style.left = `${Math.min(now, start)}px`;
    band.style.width = `${Math.abs(now - start)}px`;
  });
  const ended = (event) => {
    const now = clampX(event.offsetX);
    const isZoom = event.type === "pointerup" && start !== undefined && Math.abs(now - start) >= LEAST_DRAG;
    if (pointers.delete(event.pointerId) && isZoom) {
      show(held([unitAt(Math.min(now, start)), unitAt(Math.max(now, start))], state.whole));
    }
    band.hidden = true;
    start = undefined;
  };
  canvas.addEventListener("pointerup", ended);
  canvas.addEventListener("pointercancel", ended);
  canvas.addEventListener("dblclick", () => show(state.whole));
  canvas.addEventListener("wheel", (event) => {
    const range = zoomed(state.range, state.whole, unitAt(event.offsetX), 1.0015 ** event.deltaY);
    // Where the whole is shown already, the wheel moves the page.
    const grows = range[1] - range[0] > (state.range[1] - state.range[0]) * 1.000001;
    if (event.deltaY > 0 && !grows) return;
    event.preventDefault();
    show(range);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const { range, whole } = state;
    const zoom = (factor) => zoomed(range, whole, (range[0] + range[1]) / 2, factor);
    const keys = {
      ArrowLeft: () => moved(range, whole, -0.2),
      ArrowRight: () => moved(range, whole, 0.2),
      "+": () => zoom(0.5),
      "-": () => zoom(2),
      0: () => whole,
      Escape: () => whole,
    };
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    show(keys[event.key]());
  });
}
