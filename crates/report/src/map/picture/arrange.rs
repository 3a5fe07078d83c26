//! How large each group is and where its parts stand within it.

mod flow;
mod plan;

use machine::wording::counted;

use super::measure;
use super::outline::{Block, Chip, Core, Group, Outline, Strip, StripKind};
pub(super) use flow::Flow;
pub(super) use plan::{CORE_LINE, CORE_PAD, Detail, Plan};

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
    /// Whether the CPUs of its strips are written: in all groups beside each other, or in none.
    pub(super) with_cpus: bool,
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
struct Stack<'a, 'p> {
    outline: &'a Outline,
    plan: &'p Plan,
    pieces: Vec<Piece<'a>>,
    left: f64,
    bottom: f64,
    right: f64,
}

/// Arranges the groups within the machine and its devices, without a frame around.
pub(super) fn machine<'a>(outline: &'a Outline, room: f64, plan: &Plan) -> Option<Placed<'a>> {
    let group = outline.groups.first()?;
    let mut stack = Stack::new(outline, plan, 0.0);
    stack.put_inner(group, room);
    stack.put_chips(group, room);
    Some(Placed { group, width: stack.right, height: stack.bottom, pieces: stack.pieces, with_cpus: false })
}

/// Arranges a group, and all within it, to be no wider than `room` where that can be had.
fn framed<'a>(outline: &'a Outline, group: &'a Group, room: f64, plan: &Plan, labelled: bool) -> Placed<'a> {
    let pad = plan.pad;
    let inside = room - 2.0 * pad;
    let mut stack = Stack::new(outline, plan, pad);
    if labelled {
        stack.put_strips(&group.strips, inside);
    }
    let first_inner = group.inner.first().and_then(|index| outline.groups[*index].cpus.first());
    let (before, after): (Vec<&Block>, Vec<&Block>) = group.blocks.iter().partition(|block| {
        let first = block.cores.first().and_then(|core| core.cpus.first());
        first.zip(first_inner).is_some_and(|(first, inner)| *first < inner)
    });
    before.into_iter().for_each(|block| stack.put_block(block, inside));
    stack.put_inner(group, inside);
    after.into_iter().for_each(|block| stack.put_block(block, inside));
    let room_for_chips = (stack.right - pad).max(CAPTION).min(inside);
    stack.put_chips(group, room_for_chips);
    Placed {
        group,
        width: stack.right + pad,
        height: stack.bottom + pad,
        pieces: stack.pieces,
        with_cpus: true,
    }
}

impl<'a, 'p> Stack<'a, 'p> {
    fn new(outline: &'a Outline, plan: &'p Plan, pad: f64) -> Self {
        Self { outline, plan, pieces: Vec::new(), left: pad, bottom: pad, right: pad }
    }

    fn put(&mut self, (width, height): (f64, f64), what: PieceKind<'a>) {
        self.pieces.push(Piece { left: self.left, top: self.bottom, what });
        self.bottom += height;
        self.right = self.right.max(self.left + width);
    }

    fn space(&mut self, height: f64) {
        if !self.pieces.is_empty() {
            self.bottom += height;
        }
    }

    fn lines(&mut self, text: &str, room: f64) {
        for line in measure::lines(text, SMALL, false, room) {
            let width = measure::width(&line, SMALL, false);
            self.put((width, LINE), PieceKind::Line(line));
        }
        self.bottom += 2.0;
    }

    fn flow(&mut self, flow: &Flow, parts: Vec<PieceKind<'a>>) {
        for ((left, top), what) in flow.places.iter().zip(parts) {
            self.pieces.push(Piece { left: self.left + left, top: self.bottom + top, what });
        }
        self.bottom += flow.height;
        self.right = self.right.max(self.left + flow.width);
    }

    fn put_strips(&mut self, strips: &'a [Strip], room: f64) {
        for strip in strips {
            self.space(2.0);
            self.put((strip_width(strip).min(room), STRIP), PieceKind::Strip(strip));
        }
    }

    /// Groups with CPUs in rows, then nodes without, then CPUs of which the place is not known.
    fn put_inner(&mut self, group: &'a Group, room: f64) {
        let inner = group.inner.iter().map(|index| &self.outline.groups[*index]);
        let (unplaced, placed): (Vec<&Group>, Vec<&Group>) = inner.partition(|g| g.is(StripKind::Unplaced));
        let (without, with_cpus): (Vec<&Group>, Vec<&Group>) =
            placed.into_iter().partition(|group| group.cpus.is_empty() && group.blocks.is_empty());
        let said = said_once(&with_cpus, self.plan);
        if let Some(caption) = &said {
            self.space(self.plan.stack);
            self.lines(caption, room);
        }
        self.put_groups(&with_cpus, room, said.is_none());
        self.put_groups(&without, room, true);
        self.put_groups(&unplaced, room, true);
    }

    fn put_groups(&mut self, groups: &[&'a Group], room: f64, labelled: bool) {
        if groups.is_empty() {
            return;
        }
        self.space(self.plan.gap);
        let arranged = groups.iter().map(|group| framed(self.outline, group, room, self.plan, labelled));
        let mut arranged: Vec<Placed> = arranged.collect();
        let sizes: Vec<(f64, f64)> = arranged.iter().map(|placed| (placed.width, placed.height)).collect();
        let flow = Flow::of(&sizes, room, self.plan.gap);
        let room_for = |((width, _), group): (&(f64, f64), &&Group)| {
            let whole = |strip: &Strip| whole_width(strip) <= width - 2.0 * self.plan.pad + measure::ROUNDING;
            group.strips.first().is_none_or(whole)
        };
        let with_cpus = flow.sizes.iter().zip(groups).all(room_for);
        for (placed, (width, height)) in arranged.iter_mut().zip(&flow.sizes) {
            (placed.width, placed.height, placed.with_cpus) = (*width, *height, with_cpus);
        }
        self.flow(&flow, arranged.into_iter().map(PieceKind::Group).collect());
    }

    fn put_block(&mut self, block: &'a Block, room: f64) {
        self.space(self.plan.stack);
        let core = self.plan.core_size(&block.cores);
        let columns = self.plan.columns(block.cores.len(), core.0, room);
        let rows = block.cores.len().div_ceil(columns);
        let gap = self.plan.core_gap;
        let extent = |count: usize, size: f64| count as f64 * (size + gap) - gap;
        let size = (extent(columns, core.0), extent(rows, core.1));
        if let Some(caption) = &block.caption {
            self.lines(caption, size.0.max(CAPTION).min(room));
        }
        self.put(size, PieceKind::Grid { cores: &block.cores, columns, core });
    }

    fn put_chips(&mut self, group: &'a Group, room: f64) {
        if group.chips.is_empty() {
            return;
        }
        self.space(self.plan.gap);
        if let Some(caption) = &group.chips_caption {
            self.space(4.0);
            self.lines(caption, room);
        }
        let sizes: Vec<(f64, f64)> = group.chips.iter().map(|chip| chip_size(chip, room)).collect();
        let flow = Flow::of(&sizes, room, 5.0);
        let chips = group.chips.iter().zip(&flow.sizes).map(|(chip, size)| PieceKind::Chip(chip, *size));
        self.flow(&flow, chips.collect());
    }
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
            plan.columns(block.cores.len(), core, f64::MAX) as f64 * (core + plan.core_gap)
        });
        strip_text_width(&group.strips[0]) <= grids.fold(0.0, f64::max)
    };
    let cores = first.blocks.iter().map(|block| block.cores.len()).sum::<usize>();
    (groups.len() > 1 && groups.iter().all(alike) && !groups.iter().all(fits))
        .then(|| format!("each frame: {what}, {}", counted(cores, "core")))
}

/// A strip is made this much wider for its CPUs, at most.
const DETAIL: f64 = 180.0;

/// A strip without its CPUs.
fn strip_text_width(strip: &Strip) -> f64 {
    let figure =
        if strip.figure.is_empty() { 0.0 } else { BESIDE + measure::width(&strip.figure, SMALL, false) };
    measure::width(&strip.name, SMALL, true) + figure + 2.0 * inset(strip.kind)
}

/// A strip with all of its CPUs.
fn whole_width(strip: &Strip) -> f64 {
    strip_text_width(strip) + measure::width(&strip.detail, SMALL, false) + 2.0 * BESIDE
}

/// A strip with as much as should be seen of it: nodes and packages show their CPUs where these are few words.
fn strip_width(strip: &Strip) -> f64 {
    strip_text_width(strip)
        + match strip.kind {
            StripKind::Cache | StripKind::Cluster => 0.0,
            _ if strip.detail.is_empty() => 0.0,
            _ => (measure::width(&strip.detail, SMALL, false) + 2.0 * BESIDE).min(DETAIL),
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
