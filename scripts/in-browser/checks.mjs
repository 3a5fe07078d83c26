// What has to hold, each printed.

let count = 0;

export const failures = () => count;

export function failed(what, detail) {
  count += 1;
  console.log(`FAILED  ${what}: ${detail}`);
}

export function check(what, holds, detail = "") {
  if (holds) console.log(`ok      ${what}`);
  else failed(what, typeof detail === "string" ? detail : JSON.stringify(detail));
}

// Asks until the answer is true, and answers it; an error where it is not in time.
export async function until(what, ask, patienceMs = 30_000) {
  const end = Date.now() + patienceMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`${what}: it did not come within ${patienceMs / 1000} s`);
    await new Promise((done) => setTimeout(done, 200));
  }
}
