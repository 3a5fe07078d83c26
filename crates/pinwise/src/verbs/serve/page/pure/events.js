// Server-sent events out of the pieces in which they arrive, and how long to wait before the stream is asked for again. Pure.

// More than this without the end of an event is no stream of ours, characters: a second of 4,096 CPUs has 1 MiB.
const MOST = 32 << 20;

// Reads events as the HTML standard has them: lines end with LF, CR or both; an empty line ends an event.
export class EventParser {
  // What has come since the end of the last line, and its length: no end of a line is in it, but perhaps half of one at its end.
  #pieces = [];
  #length = 0;
  #event = "";
  #data = [];
  #size = 0;

  // The events that this piece completes: { event, data }.
  push(piece) {
    const known = this.#length;
    const isWaiting = this.#pieces.at(-1)?.endsWith("\r");
    if (piece !== "") this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length + this.#size > MOST) throw new RangeError("an event of the stream is too long");
    // A second of many CPUs comes in many pieces: each is looked at once.
    if (!isWaiting && !/[\r\n]/.test(piece)) return [];
    return this.#lines(this.#pieces.join(""), Math.max(known - 1, 0));
  }

  // The events of the lines that end in this text; none ends before `seen`.
  #lines(text, seen) {
    const events = [];
    let from = 0;
    for (;;) {
      const end = endOfLine(text, Math.max(from, seen));
      if (end === null) break;
      const event = this.#line(text.slice(from, end.at));
      if (event) events.push(event);
      from = end.next;
    }
    const rest = text.slice(from);
    [this.#pieces, this.#length] = [rest === "" ? [] : [rest], rest.length];
    return events;
  }

  #line(line) {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    if (field === "data") {
      this.#data.push(value);
      this.#size += value.length;
    }
    return null;
  }

  #end() {
    const event = this.#data.length ? { event: this.#event || "message", data: this.#data.join("\n") } : null;
    this.#event = "";
    this.#data = [];
    this.#size = 0;
    return event;
  }
}

// Where the line ends and the next one begins; null where that has not arrived. A CR at the very end may be half of a CR LF.
function endOfLine(text, from) {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\n") return { at, next: at + 1 };
    if (text[at] !== "\r") continue;
    if (at + 1 === text.length) return null;
    return { at, next: text[at + 1] === "\n" ? at + 2 : at + 1 };
  }
  return null;
}

// The value of an event, or null where it is no JSON: one bad event does not end the stream.
export function valueOf(event) {
  try {
    return JSON.parse(event.data);
  } catch {
    return null;
  }
}

// Seconds before try number `failures` (from 1 on): 1, 2, 4, up to 30; some chance in it keeps pages from coming all at once.
export const waitBefore = (failures, chance = Math.random()) =>
  Math.min(2 ** Math.min(failures - 1, 5), 30) * (0.75 + chance / 2);
