//! How large each group is and where its parts stand within it.

mod flow;
mod plan;

use super::measure;
use super::outline::{Block, Chip, Core, Group, Outline, Strip, StripKind};
pub(super) use flow::Flow;
pub(super) use plan::{CORE_LINE, CORE_PAD, Detail, Plan, RIM};

/// Room between a frame and what is in it, user units.
pub(super) const PAD: f64 = 7.0;
/// Room between frames.
pub(super) const GAP: f64 = 8.0;
/// Room between what stands below each other in a frame.
const STACK: f64 = 5.0;
/// Height of a strip with its text.
pub(super) const STRIP: f64 = 18.0;
/// Type size of strips, captions and devices.
pub(super) const SMALL: f64 = 11.0;
/// Height of a line of [`SMALL`] text.
pub(super) const LINE: f64 = 14.0;
/// Captions may make a group this wide before they are broken.
const CAPTION: f64 = 250.0;

/// A group whose parts have their places, relative to its upper left corner.
#[derive(Debug, Clone)]
pub(super) struct Placed<'a> {
    pub(super) group: &'a Group,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) pieces: Vec<Piece<'a>>,
}

/// One part of a group.
#[derive(Debug, Clone)]
pub(super) struct Piece<'a> {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) what: PieceKind<'a>,
}

/// What stands in a group.
#[derive(Debug, Clone)]
pub(super) enum PieceKind<'a> {
    /// A group within.
    Group(Placed<'a>),
    /// A level, as wide as the group.
    Strip(&'a Strip),
    /// A line of small text.
    Line(String),
    /// Cores in columns.
    Grid { cores: &'a [Core], columns: usize, core: (f64, f64) },
    /// A device, with its size.
    Chip(&'a Chip, (f64, f64)),
}

/// Stacks parts below each other.
struct Stack<'a> {
    pieces: Vec<Piece<'a>>,
    left: f64,
    bottom: f64,
    right: f64,
}

impl<'a> Stack<'a> {
    fn put(&mut self, (width, height): (f64, f64), what: PieceKind<'a>) {
        self.pieces.push(Piece { left: self.left, top: self.bottom, what });
        self.bottom += height;
        self.right = self.right.max(self.left + width);
    }

    fn space(&mut self) {
        if !self.pieces.is_empty() {
            self.bottom += STACK;
        }
    }

    fn lines(&mut self, text: &str, room: f64) {
        for line in measure::lines(text, SMALL, false, room) {
            let width = measure::width(&line, SMALL, false);
            self.put((width, LINE), PieceKind::Line(line));
        }
    }

    fn flow(&mut self, flow: &Flow, parts: Vec<PieceKind<'a>>) {
        for ((left, top), what) in flow.places.iter().zip(parts) {
            self.pieces.push(Piece { left: self.left + left, top: self.bottom + top, what });
        }
        self.bottom += flow.height;
        self.right = self.right.max(self.left + flow.width);
    }
}

/// Arranges the groups within the machine and its devices, without a frame around.
pub(super) fn machine<'a>(outline: &'a Outline, room: f64, plan: &Plan) -> Option<Placed<'a>> {
    let group = outline.groups.first()?;
    let mut stack = Stack { pieces: Vec::new(), left: 0.0, bottom: 0.0, right: 0.0 };
    put_inner(&mut stack, outline, group, room, plan);
    put_chips(&mut stack, group, room);
    Some(Placed { group, width: stack.right, height: stack.bottom, pieces: stack.pieces })
}

fn framed<'a>(outline: &'a Outline, group: &'a Group, room: f64, plan: &Plan, labelled: bool) -> Placed<'a> {
    let inside = room - 2.0 * PAD;
    let mut stack = Stack { pieces: Vec::new(), left: PAD, bottom: PAD, right: PAD };
    if labelled {
        for strip in &group.strips {
            let width = strip_width(strip).min(inside);
            if strip.kind == StripKind::Cache || strip.kind == StripKind::Node {
                stack.put((width, STRIP + 2.0), PieceKind::Strip(strip));
            } else {
                stack.put((width, STRIP), PieceKind::Strip(strip));
            }
        }
        stack.bottom += if stack.pieces.is_empty() { 0.0 } else { 2.0 };
    }
    let first_inner = group.inner.first().and_then(|index| outline.groups[*index].cpus.first());
    let (before, after): (Vec<&Block>, Vec<&Block>) = group.blocks.iter().partition(|block| {
        let first = block.cores.first().and_then(|core| core.cpus.first());
        first.zip(first_inner).is_some_and(|(first, inner)| *first < inner)
    });
    before.into_iter().for_each(|block| put_block(&mut stack, block, inside, plan));
    put_inner(&mut stack, outline, group, inside, plan);
    after.into_iter().for_each(|block| put_block(&mut stack, block, inside, plan));
    let room_for_chips = (stack.right - PAD).max(CAPTION).min(inside);
    put_chips(&mut stack, group, room_for_chips);
    Placed { group, width: stack.right + PAD, height: stack.bottom + PAD, pieces: stack.pieces }
}

/// Groups with CPUs in rows, then those without.
fn put_inner<'a>(stack: &mut Stack<'a>, outline: &'a Outline, group: &'a Group, room: f64, plan: &Plan) {
    let inner: Vec<&Group> = group.inner.iter().map(|index| &outline.groups[*index]).collect();
    let (with_cpus, without): (Vec<&Group>, Vec<&Group>) =
        inner.into_iter().partition(|group| !group.cpus.is_empty() || !group.blocks.is_empty());
    let unlabelled = said_once(&with_cpus, plan);
    if let Some(caption) = &unlabelled {
        stack.lines(caption, room.max(CAPTION).min(room));
        stack.bottom += 2.0;
    }
    for groups in [with_cpus, without] {
        if groups.is_empty() {
            continue;
        }
        stack.space();
        let mut placed: Vec<Placed> =
            groups.into_iter().map(|g| framed(outline, g, room, plan, unlabelled.is_none())).collect();
        let sizes: Vec<(f64, f64)> = placed.iter().map(|p| (p.width, p.height)).collect();
        let flow = Flow::of(&sizes, room, GAP);
        for (placed, (width, height)) in placed.iter_mut().zip(&flow.sizes) {
            (placed.width, placed.height) = (*width, *height);
        }
        stack.flow(&flow, placed.into_iter().map(PieceKind::Group).collect());
    }
}

fn put_block<'a>(stack: &mut Stack<'a>, block: &'a Block, room: f64, plan: &Plan) {
    stack.space();
    let core = plan.core_size(&block.cores);
    let columns = plan.columns(block.cores.len(), core.0, room);
    let rows = block.cores.len().div_ceil(columns);
    let gap = plan.core_gap();
    let extent = |count: usize, size: f64| count as f64 * (size + gap) - gap;
    let size = (extent(columns, core.0), extent(rows, core.1));
    if let Some(caption) = &block.caption {
        stack.lines(caption, size.0.max(CAPTION).min(room));
        stack.bottom += 2.0;
    }
    stack.put(size, PieceKind::Grid { cores: &block.cores, columns, core });
}

fn put_chips<'a>(stack: &mut Stack<'a>, group: &'a Group, room: f64) {
    if group.chips.is_empty() {
        return;
    }
    stack.space();
    if let Some(caption) = &group.chips_caption {
        stack.space();
        stack.lines(caption, room);
        stack.bottom += 2.0;
    }
    let sizes: Vec<(f64, f64)> = group.chips.iter().map(|chip| chip_size(chip, room)).collect();
    let flow = Flow::of(&sizes, room, 5.0);
    let chips = group.chips.iter().zip(&flow.sizes).map(|(chip, size)| PieceKind::Chip(chip, *size));
    stack.flow(&flow, chips.collect());
}

/// What is said of leaf groups together because their own strips would be wider than they are: `8 x L2 2 MiB`.
fn said_once(groups: &[&Group], plan: &Plan) -> Option<String> {
    let first = groups.first()?;
    let strip = match first.strips.as_slice() {
        [strip] => strip,
        _ => return None,
    };
    let said = |strip: &Strip| match strip.kind {
        StripKind::Cache => Some(strip.words()),
        StripKind::Cluster => Some("cluster".to_string()),
        _ => None,
    };
    let what = said(strip)?;
    let alike = |group: &&Group| {
        let same = matches!(group.strips.as_slice(), [strip] if said(strip).as_ref() == Some(&what));
        same && group.inner.is_empty() && group.chips.is_empty()
    };
    let fits = |group: &&Group| {
        let grids = group.blocks.iter().map(|block| {
            let core = plan.core_size(&block.cores).0;
            plan.columns(block.cores.len(), core, f64::MAX) as f64 * (core + plan.core_gap())
        });
        strip_text_width(&group.strips[0]) <= grids.fold(0.0, f64::max)
    };
    let cores = first.blocks.iter().map(|block| block.cores.len()).sum::<usize>();
    let plural = if cores == 1 { "" } else { "s" };
    (groups.len() > 1 && groups.iter().all(alike) && !groups.iter().all(fits))
        .then(|| format!("each frame: {what}, {cores} core{plural}"))
}

/// A strip without its CPUs.
fn strip_text_width(strip: &Strip) -> f64 {
    let figure =
        if strip.figure.is_empty() { 0.0 } else { BESIDE + measure::width(&strip.figure, SMALL, false) };
    measure::width(&strip.name, SMALL, true) + figure + 2.0 * inset(strip.kind)
}

/// A strip with as much as should be seen of it: nodes and packages show their CPUs where these are few words.
fn strip_width(strip: &Strip) -> f64 {
    strip_text_width(strip)
        + match strip.kind {
            StripKind::Cache | StripKind::Cluster => 0.0,
            _ if strip.detail.is_empty() => 0.0,
            _ => (measure::width(&strip.detail, SMALL, false) + 12.0).min(120.0),
        }
}

/// Room within a strip left and right of its text: bars have some, headings none.
pub(super) fn inset(kind: StripKind) -> f64 {
    if matches!(kind, StripKind::Node | StripKind::Cache) { 6.0 } else { 0.0 }
}

/// Room between a name and what follows it.
pub(super) const BESIDE: f64 = 6.0;

/// Room within a chip left and right of its text; the coloured edge is in the left one.
pub(super) const CHIP_EDGE: f64 = 9.0;

fn chip_size(chip: &Chip, room: f64) -> (f64, f64) {
    let name = measure::width(&chip.name, SMALL, true);
    let detail =
        if chip.detail.is_empty() { 0.0 } else { BESIDE + measure::width(&chip.detail, SMALL, false) };
    let served = chip.served.as_ref().map_or(0.0, |served| measure::width(served, SMALL, false));
    let width = (name + detail).max(served) + CHIP_EDGE + 6.0;
    let lines = if chip.served.is_some() { 2.0 } else { 1.0 };
    (width.min(room), lines * LINE + 5.0)
}
