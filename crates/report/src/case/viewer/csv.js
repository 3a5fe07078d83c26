// The data of a picture as comma-separated values (RFC 4180).

// The beginning of what a spreadsheet takes for a formula, unless it is a number with a sign.
const CSV_FORMULA = /^[" ]*[=+\-@\uff0b\uff0d\uff1d\uff20]/;
const CSV_NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// A text that spreadsheets show and do not compute, quoted where it has to be. Some have cells end at semicolons, too.
function csvText(text) {
  const guarded = (cell) => (CSV_FORMULA.test(cell) && !CSV_NUMBER.test(cell) ? `'${cell}` : cell);
  const plain = text.split(";").map(guarded).join(";").replace(/^[\t\r]/, "'$&");
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

// A number in full; empty where it is not known.
function csvNumber(value) {
  return Number.isFinite(value) ? String(value) : "";
}

// Pieces that follow each other: one text of a million lines at once would stand in memory twice.
function csvPieces(plot) {
  const pieces = [`${["series", plot.x.name, plot.y.name].map(csvText).join(",")}\r\n`];
  for (const { name, x, y } of plot.series) {
    const first = csvText(name);
    for (let from = 0; from < x.length; from += 10000) {
      let piece = "";
      for (let i = from; i < Math.min(from + 10000, x.length); i++) piece += `${first},${csvNumber(x[i])},${csvNumber(y[i])}\r\n`;
      pieces.push(piece);
    }
  }
  return pieces;
}

// The link that saves them: the file is made when it is asked for.
function csvLink(plot) {
  const link = element("a", { href: "#", download: `${plot.id}.csv` }, "Data as CSV");
  link.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob(csvPieces(plot), { type: "text/csv" }));
    link.href = address;
    setTimeout(() => {
      URL.revokeObjectURL(address);
      link.href = "#";
    }, 60000);
  });
  return link;
}
