// Begins, once the page is there: this script stands at its end.
const { plots } = JSON.parse(document.getElementById("pinwise-data").textContent);
for (const plot of plots) {
  const frame = document.querySelector(`[data-plot="${plot.id}"]`);
  if (frame) attach(frame, plot);
}
document.querySelectorAll(".scroll > table").forEach(makeSortable);
