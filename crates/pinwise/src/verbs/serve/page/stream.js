// The stream of live figures: asked for again when it breaks, at rest while nobody looks at the page.
import { request } from "./api.js";
import { EventParser, valueOf, waitBefore } from "./pure/events.js";
import { isFinal, ofNoAnswer, Problem } from "./pure/problem.js";

// Without any event for so long the stream is taken for broken, ms: one comes each second.
const SILENCE_MS = 15_000;

// `on` has { event(name, value), state(words, problem, waitS) }. State words: connecting, live, waiting, resting, refused.
export class Stream {
  #on;
  #abort = null;
  #timer = 0;
  #failures = 0;
  #wanted = false;
  #look = () => (document.hidden ? this.#rest() : this.again());

  constructor(on) {
    this.#on = on;
  }

  start() {
    this.#wanted = true;
    document.addEventListener("visibilitychange", this.#look);
    this.#look();
  }

  stop() {
    this.#wanted = false;
    document.removeEventListener("visibilitychange", this.#look);
    this.#end();
  }

  // At once, whatever the wait was.
  again() {
    if (!this.#wanted || document.hidden) return;
    this.#end();
    this.#run();
  }

  #rest() {
    this.#end();
    this.#on.state("resting");
  }

  #end() {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#abort = null;
  }

  async #run() {
    const abort = new AbortController();
    this.#abort = abort;
    this.#on.state("connecting");
    try {
      await this.#read(abort);
      throw new Problem({
        object: "the live figures",
        cause: "the server ended the stream",
        remedy: "see whether 'pinwise serve' still runs",
      });
    } catch (error) {
      // Ended by us, and perhaps begun anew since: nobody waits for this one.
      if (this.#abort !== abort) return;
      abort.abort();
      this.#failed(error.name === "AbortError" ? silent() : ofNoAnswer("the live figures", error));
    }
  }

  async #read(abort) {
    const hush = () => setTimeout(() => abort.abort(), SILENCE_MS);
    let silence = hush();
    try {
      const response = await request(
        "/api/live",
        { signal: abort.signal, headers: { Accept: "text/event-stream" } },
        "the live figures",
      );
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silence);
        silence = hush();
        for (const event of parser.push(value)) this.#event(event);
      }
    } finally {
      clearTimeout(silence);
    }
  }

  #event(event) {
    this.#failures = 0;
    this.#on.state("live");
    const value = valueOf(event);
    if (value !== null) this.#on.event(event.event, value);
  }

  #failed(problem) {
    this.#abort = null;
    if (isFinal(problem)) return this.#on.state("refused", problem);
    this.#failures += 1;
    const waitS = waitBefore(this.#failures);
    this.#on.state("waiting", problem, waitS);
    this.#timer = setTimeout(() => this.again(), waitS * 1000);
  }
}

function silent() {
  const cause = `nothing came for ${SILENCE_MS / 1000} s`;
  return new Problem({
    object: "the live figures",
    cause,
    remedy: "see whether the machine is overloaded, and the ssh tunnel if there is one",
  });
}
