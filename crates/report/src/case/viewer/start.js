// Begins, once the page is there: this script stands at its end.
const { plots, falls } = JSON.parse(document.getElementById("pinwise-data").textContent);
function attachAll(all, attachOne) {
  for (const one of all) {
    const frame = document.querySelector(`[data-plot="${one.id}"]`);
    if (frame) attachOne(frame, one);
  }
}
attachAll(plots, attach);
attachAll(falls, attachFall);
document.querySelectorAll(".scroll > table").forEach(makeSortable);
