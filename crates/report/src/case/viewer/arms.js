// The buttons that switch the series of a picture on and off.
const ALL_AND_NONE_FROM = 3;

function armButtons(series, redraw) {
  const buttons = series.map((one) => {
    const sample = element("span", { class: `sample ${one.kind}`, "aria-hidden": "true" });
    const made = button("", { "aria-pressed": "true" }, () => set(one, made, !one.on));
    made.append(sample, one.name);
    return made;
  });
  function set(one, made, on) {
    one.on = on;
    made.setAttribute("aria-pressed", String(on));
    redraw();
  }
  const setAll = (on) => series.forEach((one, i) => set(one, buttons[i], on));
  const group = element("div", { class: "arms", role: "group", "aria-label": "Shown in the picture" });
  if (series.length >= ALL_AND_NONE_FROM) {
    group.append(button("all", {}, () => setAll(true)), button("none", {}, () => setAll(false)));
  }
  group.append(...buttons);
  return group;
}
