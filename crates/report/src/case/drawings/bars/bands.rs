//! Bands above the columns of many CPUs: of which package, NUMA node and cache each is.

use machine::{CpuSet, Machine};

use super::{Column, Kind, LEFT, Layout, TOP};
use crate::Html;
use crate::map::picture::measure;
use crate::svg::{self, Area};

/// Height of a band with the room below it.
const ROW: f64 = 17.0;
/// Room below all of them, where the axis of the bars has its highest label.
const BELOW: f64 = 6.0;
/// Type size of a label.
const TYPE: f64 = 12.0;

/// One level of the machine: its name, and its parts with their names.
#[derive(Debug, Clone, PartialEq)]
struct Level {
    name: String,
    parts: Vec<(String, CpuSet)>,
}

/// Levels that part the CPUs of the columns, outermost first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Bands(Vec<Level>);

/// Columns beside each other that are of one part.
struct Run {
    part: usize,
    left: f64,
    right: f64,
}

impl Bands {
    /// The levels of a machine that part these CPUs. A level that parts them as the one around it does says nothing more; one whose parts
    /// overlap parts nothing.
    pub(super) fn of(machine: &Machine, cpus: &CpuSet) -> Self {
        let mut levels: Vec<Level> = Vec::new();
        for level in [packages(machine), nodes(machine), last_caches(machine)] {
            let within = |(name, of): (String, CpuSet)| (name, of.intersection(cpus));
            let mut parts: Vec<(String, CpuSet)> = level.parts.into_iter().map(within).collect();
            parts.retain(|(_, cpus)| !cpus.is_empty());
            parts.sort_by_key(|(_, cpus)| cpus.first());
            let together: CpuSet = parts.iter().flat_map(|(_, cpus)| cpus.iter()).collect();
            let overlap = together.len() != parts.iter().map(|(_, cpus)| cpus.len()).sum::<usize>();
            let sets =
                |parts: &[(String, CpuSet)]| parts.iter().map(|(_, cpus)| cpus.clone()).collect::<Vec<_>>();
            let is_known = levels.last().is_some_and(|known| sets(&known.parts) == sets(&parts));
            if parts.len() > 1 && !overlap && !is_known {
                levels.push(Level { name: level.name, parts });
            }
        }
        Self(levels)
    }

    /// Room that they take above the bars.
    pub(super) fn height(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { ROW * self.0.len() as f64 + BELOW }
    }

    /// Where the column of a CPU stands among the others: by its parts, outermost first, then by its number.
    pub(super) fn place(&self, cpu: u32) -> (Vec<usize>, u32) {
        (self.0.iter().map(|level| level.part_of(cpu).unwrap_or(usize::MAX)).collect(), cpu)
    }

    /// Draws them, with lines down to `bottom` between the parts of the outermost level.
    pub(super) fn draw(&self, svg: &mut Html, layout: &Layout, bottom: f64) {
        for (i, level) in self.0.iter().enumerate() {
            // Above the bars' area, below the room for the title of its axis.
            let top = TOP - 26.0 + ROW * i as f64;
            svg::text(svg, "tick", (LEFT - 10.0, top + 11.5), "end", &level.name);
            let runs = level.runs(&layout.columns, layout.step);
            for run in &runs {
                draw_run(svg, level, run, top);
            }
            for run in runs.iter().skip(1).filter(|_| i == 0) {
                svg::line(svg, "part-edge", (run.left, top), (run.left, bottom));
            }
        }
    }
}

impl Level {
    fn part_of(&self, cpu: u32) -> Option<usize> {
        self.parts.iter().position(|(_, cpus)| cpus.contains(cpu))
    }

    fn runs(&self, columns: &[Column], step: f64) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for column in columns.iter().filter(|column| column.kind != Kind::Control) {
            let Some(part) = column.cpu.and_then(|cpu| self.part_of(cpu)) else { continue };
            match runs.last_mut() {
                Some(last) if last.part == part && column.x <= last.right + step / 2.0 => {
                    last.right = column.x + step;
                }
                _ => runs.push(Run { part, left: column.x, right: column.x + step }),
            }
        }
        runs
    }
}

/// One band, with as much of its name as fits: `node 3`, or `3`, or nothing but its tooltip.
fn draw_run(svg: &mut Html, level: &Level, run: &Run, top: f64) {
    let Some((name, cpus)) = level.parts.get(run.part) else { return };
    let band = Area { left: run.left, top, width: (run.right - run.left - 1.0).max(0.5), height: ROW - 2.0 };
    let class = if run.part.is_multiple_of(2) { "part even" } else { "part" };
    svg::rectangle(svg, class, band, &format!("{} {name}: CPUs {cpus}", level.name));
    let whole = format!("{} {name}", level.name);
    let fits = |text: &&str| measure::width(text, TYPE, false) + 6.0 <= band.width;
    if let Some(text) = [whole.as_str(), name.as_str()].into_iter().find(fits) {
        let place = (band.left + band.width / 2.0, band.top + 11.5);
        svg::text(svg, "tick", place, "middle", text);
    }
}

fn packages(machine: &Machine) -> Level {
    let name = |(i, cpus): (usize, &CpuSet)| {
        let number = cpus.first().and_then(|cpu| machine.cpu(cpu)?.package);
        (number.map_or_else(|| i.to_string(), |number| number.to_string()), cpus.clone())
    };
    Level { name: "package".into(), parts: machine.packages.iter().enumerate().map(name).collect() }
}

fn nodes(machine: &Machine) -> Level {
    let parts = machine.nodes.iter().map(|node| (node.id.to_string(), node.cpus.clone())).collect();
    Level { name: "node".into(), parts }
}

/// The caches of the last level; they have no numbers, so that each is named by its CPUs.
fn last_caches(machine: &Machine) -> Level {
    let last = machine.caches.iter().filter(|cache| cache.cpus.len() > 1).map(|cache| cache.level).max();
    let own = machine.caches.iter().filter(|cache| Some(cache.level) == last);
    let name = last.map_or_else(|| "cache".to_string(), |level| format!("L{level}"));
    Level { name, parts: own.map(|cache| (cache.cpus.to_list(), cache.cpus.clone())).collect() }
}

#[cfg(test)]
mod tests {
    use machine::topology::caches::{Cache, CacheType};
    use machine::topology::nodes::Node;

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    /// Two packages that are nodes, four caches; the second threads of the cores have the upper numbers.
    fn machine() -> Machine {
        let node = |id, cpus: &str| Node { id, cpus: set(cpus), ..Node::default() };
        let cache = |cpus: &str| Cache { level: 3, kind: CacheType::Unified, bytes: None, cpus: set(cpus) };
        Machine {
            packages: vec![set("0-3,8-11"), set("4-7,12-15")],
            nodes: vec![node(0, "0-3,8-11"), node(1, "4-7,12-15")],
            caches: vec![cache("0-1,8-9"), cache("2-3,10-11"), cache("4-5,12-13"), cache("6-7,14-15")],
            ..Machine::default()
        }
    }

    #[test]
    fn a_level_that_parts_the_cpus_as_the_one_around_it_is_left_out() {
        let bands = Bands::of(&machine(), &set("0-15"));
        let names: Vec<(&str, usize)> =
            bands.0.iter().map(|level| (level.name.as_str(), level.parts.len())).collect();
        assert_eq!(names, [("package", 2), ("L3", 4)], "each node is a package");
        assert_eq!(Bands::of(&machine(), &set("0-3")).0.len(), 1, "of one package the caches alone");
        assert_eq!(Bands::of(&machine(), &set("0-1")), Bands::default());
        assert_eq!(Bands::default().height(), 0.0);
    }

    #[test]
    fn the_threads_of_a_part_stand_beside_each_other_and_unknown_cpus_last() {
        let bands = Bands::of(&machine(), &set("0-15"));
        let mut cpus: Vec<u32> = (0..17).collect();
        cpus.sort_by_cached_key(|cpu| bands.place(*cpu));
        assert_eq!(cpus, [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, 16]);
    }

    #[test]
    fn parts_that_overlap_part_nothing() {
        let mut machine = machine();
        machine.packages = vec![set("0-8"), set("8-15")];
        machine.nodes[0].cpus = set("0-15");
        let bands = Bands::of(&machine, &set("0-15"));
        assert_eq!(bands.0.iter().map(|level| level.name.as_str()).collect::<Vec<_>>(), ["L3"]);
    }
}
