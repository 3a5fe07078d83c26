// The data of a picture as comma-separated values (RFC 4180).

// A text that spreadsheets show and do not compute, quoted where it has to be. Some have cells end at semicolons, too.
function csvText(text) {
  const plain = text.replace(/^(?=[\t\r])|(^|;)(?=[" ]*[=+\-@\uff0b\uff0d\uff1d\uff20])/g, "$1'");
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

// Pieces that follow each other: one text of a million lines at once would stand in memory twice.
function csvPieces(plot) {
  const pieces = [`${["series", plot.x.name, plot.y.name].map(csvText).join(",")}\r\n`];
  for (const { name, x, y } of plot.series) {
    const first = csvText(name);
    for (let from = 0; from < x.length; from += 10000) {
      let piece = "";
      for (let i = from; i < Math.min(from + 10000, x.length); i++) piece += `${first},${x[i]},${y[i]}\r\n`;
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
