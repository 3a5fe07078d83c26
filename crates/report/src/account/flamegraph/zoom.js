(function () {
  "use strict";
  // Width of a character of a label, and how far rounded places may be off, pixels.
  var COLUMN = 7.2, NEAR = 0.005;
  var svg = document.querySelector("svg.flamegraph");
  var one = function (what) { return svg.querySelector(what); };
  var pointed = one("#pointed"), found = one("#found"), reset = one("#reset"), find = one("#find"), last = "";
  var frames = Array.prototype.map.call(svg.querySelectorAll("g.f"), function (g) {
    var rect = g.querySelector("rect"), title = g.querySelector("title").textContent;
    return g.frame = {
      g: g, rect: rect, label: g.querySelector("text"), title: title,
      name: title.slice(0, title.lastIndexOf(": ")),
      x: +rect.getAttribute("x"), y: +rect.getAttribute("y"), width: +rect.getAttribute("width")
    };
  });
  var all = frames[0];
  if (!all) { return; }

  function draw(frame, x, width) {
    var room = Math.floor((width - 6) / COLUMN), name = frame.name;
    frame.g.style.display = "";
    frame.rect.setAttribute("x", x);
    frame.rect.setAttribute("width", width);
    frame.label.setAttribute("x", x + 3);
    frame.label.textContent = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 2) + "..";
  }

  function zoom(to) {
    var scale = all.width / to.width;
    frames.forEach(function (frame) {
      var left = frame.x - to.x, right = left + frame.width - to.width;
      var below = frame.y > to.y && left <= NEAR && right >= -NEAR;
      var inside = frame.y <= to.y && left >= -NEAR && right <= NEAR;
      frame.g.classList.toggle("below", below);
      if (below) {
        draw(frame, all.x, all.width);
      } else if (inside) {
        draw(frame, all.x + left * scale, frame.width * scale);
      } else {
        frame.g.style.display = "none";
      }
    });
    reset.style.display = to === all ? "none" : "";
  }

  function search(words) {
    var wanted = words.toLowerCase(), sum = 0, end = 0;
    // Each frame comes before those above it, from the left to the right: what lies in one that was found counts once.
    frames.forEach(function (frame) {
      var hit = wanted !== "" && frame.name.toLowerCase().indexOf(wanted) >= 0, to = frame.x + frame.width;
      frame.g.classList.toggle("found", hit);
      if (hit) {
        sum += Math.max(0, to - Math.max(frame.x, end));
        end = Math.max(end, to);
      }
    });
    found.textContent = wanted === "" ? "" : "found in " + (100 * sum / all.width).toFixed(1) + " %";
  }

  function ask() {
    var words = window.prompt("Names with this in them:", last);
    if (words !== null) { search(last = words); }
  }

  function frameOf(event) {
    var g = event.target.closest("g.f");
    return g ? g.frame : null;
  }

  svg.addEventListener("click", function (event) {
    var frame = frameOf(event);
    if (frame) { zoom(frame); }
  });
  svg.addEventListener("mouseover", function (event) {
    var frame = frameOf(event);
    pointed.textContent = frame ? frame.title : "";
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") { zoom(all); search(last = ""); }
    if (event.key === "/") { event.preventDefault(); ask(); }
  });
  reset.addEventListener("click", function () { zoom(all); });
  find.addEventListener("click", ask);
  find.style.display = "";
  reset.style.display = "none";
})();
