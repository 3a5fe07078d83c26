// What went wrong, always with its object, its cause and what can be done. Pure.

export class Problem extends Error {
  constructor({ object, cause, remedy = "", status = 0, className = "" }) {
    super(`${object}: ${cause}`);
    Object.assign(this, { object, cause, remedy, status, className });
  }
}

const OF_STATUS = {
  401: [
    "the token is not the server's",
    "open the address that 'pinwise serve' printed when it was started; each start has a token of its own",
  ],
  403: ["the server refuses it", "open the page under the address that 'pinwise serve' printed"],
  404: ["there is no such thing on the server", "go back to the list: it may have been moved or removed"],
  413: ["the request is too large", "ask for less"],
  421: ["the address of the page is not one that the server answers to", "open the address that 'pinwise serve' printed"],
  429: ["the server is busy with another one of the kind", "wait until that has ended, then try again"],
};

// The problem that an answer of the server states; words of the status where it states none.
export function ofAnswer(object, status, body) {
  const said = body?.error;
  const [cause, remedy] = OF_STATUS[status] ?? [`the server answered with status ${status}`, "see what 'pinwise serve' printed"];
  if (typeof said?.cause !== "string") return new Problem({ object, cause, remedy, status });
  return new Problem({
    object: typeof said.object === "string" && said.object ? said.object : object,
    cause: said.cause,
    remedy: typeof said.remedy === "string" ? said.remedy : "",
    className: typeof said.class === "string" ? said.class : "",
    status,
  });
}

// The problem where no answer came at all.
export function ofNoAnswer(object, error) {
  if (error instanceof Problem) return error;
  const detail = error?.message ? ` (${error.message})` : "";
  const remedy = "see whether 'pinwise serve' still runs, and the ssh tunnel if there is one; then try again";
  return new Problem({ object, cause: `the server cannot be reached${detail}`, remedy });
}

// Whether trying again can help: not where the token or the address is wrong.
export const isFinal = (problem) => [401, 403, 421].includes(problem?.status);

// A fault of a verb within an answer, as a problem.
export const ofFault = (fault, object = "pinwise") =>
  new Problem({
    object: fault.object || object,
    cause: fault.cause ?? "it failed",
    remedy: fault.remedy ?? "",
    className: fault.class,
  });

// Of the facts that are missing, those for which it cannot be seen who had the CPUs; all of them where none is known to be the reason.
export function hindrances(missing) {
  const reasons = (missing ?? []).filter(({ id }) => id === "kernel-events");
  return reasons.length ? reasons : (missing ?? []);
}
