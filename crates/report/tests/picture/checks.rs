//! What must be so in the scene and the file of every machine.

use std::collections::{BTreeMap, BTreeSet};

use machine::Machine;
use report::map::picture::layout::{Item, LineStyle, Scene, What};
use report::map::picture::measure;
use report::map::picture::outline::Outline;
use report::map::picture::{Heat, Overlay, layout};

/// Coordinates are sums of many: what differs by less is equal.
const EPSILON: f64 = 0.01;

/// Lays a machine out and checks everything that must be so; gives the scene for more.
pub fn checked(name: &str, machine: &Machine) -> Scene {
    let heat = Heat::interrupts(machine);
    let outline = Outline::of(machine);
    let scene = layout::layout(&outline, heat.as_ref());
    holds(name, machine, &scene);
    scene
}

/// The same of a machine with a note in every cell; the texts of the notes fit, too.
pub fn checked_noted(name: &str, machine: &Machine, overlay: &Overlay) -> Scene {
    let scene = layout::layout_noted(&Outline::of(machine), overlay);
    holds(name, machine, &scene);
    for item in scene.items.iter().filter(|_| scene.with_lines) {
        let What::Cell { cpu, .. } = item.what else { continue };
        for line in overlay.cells.get(&cpu).iter().flat_map(|note| &note.lines) {
            assert!(measure::width(line, scene.number_size, false) <= item.area.width, "{name}: {line}");
        }
    }
    scene
}

fn holds(name: &str, machine: &Machine, scene: &Scene) {
    every_cpu_once(name, machine, scene);
    inside_parents(name, scene);
    none_overlap(name, scene);
    texts_fit(name, scene);
    words_keep_apart(name, scene);
}

fn every_cpu_once(name: &str, machine: &Machine, scene: &Scene) {
    let mut drawn: BTreeMap<u32, usize> = BTreeMap::new();
    for item in &scene.items {
        if let What::Cell { cpu, .. } = item.what {
            *drawn.entry(cpu).or_default() += 1;
        }
    }
    let wanted: BTreeMap<u32, usize> = machine.cpus.iter().map(|cpu| (cpu.id, 1)).collect();
    assert_eq!(drawn, wanted, "{name}");
}

fn inside_parents(name: &str, scene: &Scene) {
    for (i, item) in scene.items.iter().enumerate() {
        let (left, top, right, bottom) = match item.parent {
            Some(parent) => {
                assert!(parent < i, "{name}: {item:?} is painted before what holds it");
                let area = scene.items[parent].area;
                (area.left, area.top, area.right(), area.bottom())
            }
            None => (0.0, 0.0, scene.width, scene.height),
        };
        let area = item.area;
        let inside = area.left >= left - EPSILON
            && area.top >= top - EPSILON
            && area.right() <= right + EPSILON
            && area.bottom() <= bottom + EPSILON;
        assert!(inside, "{name}: {item:?} leaves {:?}", item.parent.map(|parent| &scene.items[parent]));
    }
}

fn none_overlap(name: &str, scene: &Scene) {
    let mut siblings: BTreeMap<Option<usize>, Vec<&Item>> = BTreeMap::new();
    scene.items.iter().for_each(|item| siblings.entry(item.parent).or_default().push(item));
    for items in siblings.values_mut() {
        items.sort_by(|a, b| a.area.top.total_cmp(&b.area.top));
        for (i, item) in items.iter().enumerate() {
            // Sorted by their upper edge: those that begin below this one cannot touch it.
            let below = items[i + 1..].iter().take_while(|o| o.area.top < item.area.bottom() - EPSILON);
            for other in below {
                let apart = item.area.right() <= other.area.left + EPSILON
                    || other.area.right() <= item.area.left + EPSILON;
                assert!(apart, "{name}: {item:?} overlaps {other:?}");
            }
        }
    }
}

fn texts_fit(name: &str, scene: &Scene) {
    for item in &scene.items {
        let small = |text: &str, bold| measure::width(text, 11.0, bold);
        let needed = match &item.what {
            What::Line(LineStyle::Title, text) => measure::width(text, 16.0, true),
            What::Line(LineStyle::Sub, text) => measure::width(text, 12.0, false),
            What::Line(_, text) | What::OwnCache(text) | What::Distance(text, _) => small(text, false),
            What::Strip { name, figure, detail, .. } => {
                small(name, true) + small(figure, false) + small(detail, false)
            }
            What::Chip { name, detail, served, .. } => {
                (small(name, true) + small(detail, false)).max(small(served, false)) + 9.0
            }
            What::Cell { cpu, numbered: true } => measure::width(&cpu.to_string(), scene.number_size, false),
            _ => 0.0,
        };
        assert!(needed <= item.area.width + EPSILON, "{name}: {item:?} needs {needed}");
    }
}

/// Words below the machine do not run into what stands beside them where the viewer's font is wider: 0.65 of the type size a letter.
fn words_keep_apart(name: &str, scene: &Scene) {
    for pair in scene.items.windows(2) {
        let [Item { area, what: What::Line(LineStyle::Caption, text), parent: None, .. }, next] = pair else {
            continue;
        };
        let is_beside = next.parent.is_none() && next.area.top < area.bottom() && next.area.left > area.left;
        let right = area.left + text.chars().count() as f64 * 0.65 * 11.0;
        assert!(!is_beside || right <= next.area.left + EPSILON, "{name}: {text} reaches {right}, {next:?}");
    }
}

/// Every node is drawn once, and every device with hardware (few enough here that none is only counted).
pub fn all_is_there(name: &str, machine: &Machine, scene: &Scene) {
    let mut nodes: Vec<&str> = Vec::new();
    let mut chips: BTreeSet<&str> = BTreeSet::new();
    for item in &scene.items {
        match &item.what {
            What::Strip { name, .. } if name.starts_with("node ") => nodes.push(name),
            What::Chip { name, .. } => drop(chips.insert(name)),
            _ => {}
        }
    }
    nodes.sort_unstable();
    let mut wanted: Vec<String> = machine.nodes.iter().map(|node| format!("node {}", node.id)).collect();
    wanted.sort_unstable();
    assert_eq!(nodes, wanted, "{name}");
    let devices = machine.devices.iter().filter(|device| !device.is_virtual);
    let wanted: BTreeSet<&str> = devices.map(|device| device.name.as_str()).collect();
    assert_eq!(chips, wanted, "{name}");
}

/// Tags are closed in order, nothing is loaded and nothing runs.
pub fn well_formed(name: &str, svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap_or_else(|| panic!("{name}: a tag is not ended"));
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{name}"),
            None => open.push(tag.split(' ').next().unwrap()),
        }
    }
    assert_eq!(open, Vec::<&str>::new(), "{name}");
    let words = svg.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http", "<script", "url(", "@import", "<image", "<foreignObject"] {
        assert!(!words.contains(outside), "{name}: {outside}");
    }
}
