// The view of the machine: its CPUs with their heat, what interrupts them, who had them, and a diagnosis on request.
import { get } from "./api.js";
import { connection } from "./connection.js";
import { diagnoseSection } from "./diagnose.js";
import { element, heading, inShort, list, missingList, section } from "./dom.js";
import { bytes, counted, grouped, ranges } from "./pure/figures.js";
import { STEPS, summary } from "./pure/heat.js";
import { interruptTable } from "./interrupts.js";
import { fill, problemBox } from "./notice.js";
import { Stream } from "./stream.js";
import { takerTable } from "./takers.js";
import { tiles } from "./tiles.js";
import { arranged } from "./pure/topology.js";

// Figures that are older than this are drawn as such, ms.
const FRESH_MS = 5000;

// Shows it; answers what ends it.
export function show(main, session) {
  const place = element("div");
  const live = { picture: null, at: 0 };
  const interrupts = interruptTable((numbers) => live.picture?.mark(numbers));
  const takers = takerTable();
  const sentence = element("p", { class: "summary" }, "Waiting for the first second.");
  const on = {
    cpus({ cpus, missing }) {
      if (!Array.isArray(cpus)) {
        sentence.textContent = `How busy the CPUs are is not known. ${inShort(missing)}`;
        return;
      }
      live.at = performance.now();
      live.picture?.heat(cpus);
      live.picture?.stale(false);
      sentence.textContent = summary(cpus);
    },
    interrupts: interrupts.put,
    takers: takers.put,
  };
  const stream = new Stream({
    event: (name, value) => Object.hasOwn(on, name) && on[name](value),
    state: (...state) => connection(() => stream.again(), ...state),
  });
  const ageing = setInterval(() => live.picture?.stale(performance.now() - live.at > FRESH_MS), 1000);
  main.replaceChildren(
    heading(`Machine ${session.host ?? ""}`.trim()),
    place,
    element(
      "div",
      { class: "columns" },
      section("interrupts", "Interrupts", interrupts.part),
      section("takers", "Who had the CPUs", takers.part),
    ),
    diagnoseSection(),
  );
  fill(
    place,
    "the machine",
    () => get("/api/machine", "the machine"),
    (machine) => draw(machine, live, sentence),
  );
  stream.start();
  return () => {
    clearInterval(ageing);
    stream.stop();
    connection();
  };
}

function draw(machine, live, sentence) {
  if (!Array.isArray(machine.cpus) || machine.cpus.length === 0) {
    return [
      problemBox({ object: "the machine", cause: "its CPUs are not known", remedy: "see what 'pinwise map' says at a shell" }),
      missingList(machine.missing),
    ];
  }
  const detail = element("p", { class: "detail" }, "Point at a CPU, or move there with the arrow keys, for its figures.");
  live.picture = tiles(machine, arranged(machine), (words) => (detail.textContent = words));
  return [
    facts(machine),
    element("div", { class: "picture" }, sentence, live.picture.picture, legend(machine.cpus), detail),
    missingList(machine.missing),
  ];
}

function facts(machine) {
  const online = machine.cpus.filter((cpu) => cpu.online !== false).length;
  const numbers = (kind) => (machine.groups ?? []).filter((group) => group.kind === kind).length;
  const parts = [
    ["package", "package"],
    ["node", "NUMA node"],
    ["core", "core"],
  ].filter(([kind]) => numbers(kind) > 0);
  const isolated = machine.kernel?.isolated ?? [];
  const guest = machine.virtualization?.guest === true;
  return list([
    ["CPUs", [`${grouped(online)} online`, ...parts.map(([kind, noun]) => counted(numbers(kind), noun))].join(", ")],
    machine.memory_bytes && ["Memory", bytes(machine.memory_bytes)],
    machine.kernel?.release && [
      "Kernel",
      `${machine.kernel.release} (${machine.kernel.architecture ?? "architecture not known"})`,
    ],
    guest && ["Guest of", machine.virtualization.hypervisor || "a hypervisor without a name"],
    isolated.length > 0 && ["Isolated CPUs", ranges(isolated)],
  ]);
}

function legend(cpus) {
  const swatch = (name) => element("span", { class: `swatch ${name}`, "aria-hidden": "true" });
  const scale = Array.from({ length: STEPS }, (_, step) => swatch(`h${step}`));
  return element(
    "p",
    { class: "legend" },
    element("span", {}, "idle ", scale, " busy"),
    element("span", {}, swatch("interrupts"), " interrupts and softirqs"),
    element("span", {}, swatch("stolen"), " taken by the hypervisor"),
    element("span", {}, swatch("unknown"), " not known"),
    cpus.some((cpu) => cpu.allowed === false) && element("span", {}, swatch("barred"), " not for pinwise"),
  );
}
