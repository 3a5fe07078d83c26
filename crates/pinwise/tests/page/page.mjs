// The files of the page of 'pinwise serve', for its tests: node --test crates/pinwise/tests/page/*.test.mjs
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const FOLDER = fileURLToPath(new URL("../../src/verbs/serve/page", import.meta.url));

// The texts of all scripts by their paths.
export function scripts(below = "") {
  return readdirSync(join(FOLDER, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below ? `${below}/${entry.name}` : entry.name;
    if (entry.isDirectory()) return scripts(path);
    return path.endsWith(".js") ? [[path, readFileSync(join(FOLDER, path), "utf8")]] : [];
  });
}

// The functions that need no browser. Node.js takes a .js file for a module only where a package.json says so: a copy has one.
const copy = mkdtempSync(join(tmpdir(), "pinwise-page-"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
cpSync(FOLDER, copy, { recursive: true });
writeFileSync(join(copy, "package.json"), '{"type":"module"}');

export const pure = (name) => import(pathToFileURL(join(copy, "pure", `${name}.js`)).href);

// A script of the page, for tests that put fake_dom.mjs in place of a browser.
export const script = (name) => import(pathToFileURL(join(copy, `${name}.js`)).href);
