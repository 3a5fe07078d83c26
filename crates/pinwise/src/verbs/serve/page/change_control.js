// Controls that change the machine: disabled where that is not allowed, and while another change is under way.

export function control(view, made) {
  view.controls.push(made);
  return made;
}

export function enable(view) {
  view.controls = view.controls.filter((made) => made.isConnected);
  for (const made of view.controls) {
    made.disabled = view.busy || view.why !== null || made.expired === true;
    if (view.why) made.setAttribute("aria-describedby", "why-not");
  }
}
