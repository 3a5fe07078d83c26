// The scripts as a whole: what a browser would only find out when it loads them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { scripts } from "./page.mjs";

const files = new Map(scripts());

function imports(text) {
  return [...text.matchAll(/^import \{([^}]+)\} from "([^"]+)";$/gm)].map(([, names, from]) => {
    const all = names.split(",").map((name) => name.trim());
    const each = all.filter((name) => name !== "").map((name) => name.split(" as "));
    return { from, names: each.map(([name, own = name]) => ({ name, own })) };
  });
}

const exported = (text) =>
  new Set([...text.matchAll(/^export (?:async )?(?:function|const|class) (\w+)/gm)].map(([, name]) => name));

test("every script is a module without an error of syntax", () => {
  for (const [path, text] of files) {
    assert.doesNotThrow(
      () =>
        execFileSync(process.execPath, ["--check", "--input-type=module", "-"], { input: text, stdio: ["pipe", "pipe", "pipe"] }),
      path,
    );
  }
});

test("every name that is imported is there, and is used", () => {
  for (const [path, text] of files) {
    assert.equal(imports(text).length, text.match(/^import /gm)?.length ?? 0, `an import of ${path} is of another form`);
    for (const { from, names } of imports(text)) {
      const target = new URL(from, `file:///${path}`).pathname.slice(1);
      assert.ok(files.has(target), `${path} imports ${target}`);
      for (const { name, own } of names) {
        assert.ok(exported(files.get(target)).has(name), `${path} imports ${name} of ${target}`);
        assert.ok(text.match(new RegExp(`\\b${own}\\b`, "g")).length > 1, `${path} does not use ${own}`);
      }
    }
  }
});

test("everything that is exported is used", () => {
  const used = new Set(
    [...files.values()].flatMap((text) => imports(text).flatMap(({ names }) => names.map(({ name }) => name))),
  );
  // Named for the tests, beside their use within the file.
  const ours = new Set(["VIEWS", "MOST_COMPARED", "sumOf", "quoted"]);
  for (const [path, text] of files)
    for (const name of exported(text)) assert.ok(used.has(name) || ours.has(name), `${path}: ${name}`);
});

test("functions without a browser know none, and import nothing that does", () => {
  for (const [path, text] of files) {
    if (!path.startsWith("pure/")) continue;
    assert.doesNotMatch(text, /\b(document|window|fetch|sessionStorage|location)\b[.(]/, path);
    for (const { from } of imports(text)) assert.ok(from.startsWith("./"), `${path} imports ${from}`);
  }
});
