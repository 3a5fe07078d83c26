// The page of 'pinwise serve' in a browser; scripts/try-serve starts this with what it is to know as JSON.
import { changing } from "./changing.mjs";
import { launch } from "./browser.mjs";
import { failures, failed } from "./checks.mjs";
import { looking } from "./looking.mjs";

const given = JSON.parse(process.argv[2]);
const browser = await launch(given);
try {
  await { looking, changing }[given.part](browser, given);
} catch (error) {
  // The rest of a part needs what failed.
  failed(`${given.part} comes to its end`, error.message ?? error);
} finally {
  await browser.close();
}
process.exitCode = failures() === 0 ? 0 : 1;
