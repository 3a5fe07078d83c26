//! Which frames a flame graph has, and where.

use std::collections::BTreeMap;

/// Frames of a stack that are drawn, from the outermost on: a thread, what it did, and two stacks as deep as the kernel takes them. The
/// time of what lies further in stays with the last of these.
const DEEPEST: usize = 260;

/// Frames that are drawn at most: browsers become slow with more.
const MOST: usize = 20_000;

/// Narrower frames are left out, pixels.
const NARROWEST: f64 = 0.1;

/// A function as it was called by the frames around it.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Its time, with that of what it called.
    ns: u128,
    called: BTreeMap<String, Frame>,
}

/// A frame with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placed<'a> {
    pub(super) name: &'a str,
    /// Frames below it: 0 for all together, 1 for a thread, 2 for what that did.
    pub(super) depth: usize,
    /// What the thread did; empty below that.
    pub(super) state: &'a str,
    /// From the left edge, pixels.
    pub(super) x: f64,
    /// Pixels.
    pub(super) width: f64,
    pub(super) ns: u128,
}

impl Frame {
    /// Folded stacks, added together: names with semicolons between them, the outermost first, and ns.
    pub(super) fn of<'a>(stacks: impl Iterator<Item = (&'a str, u64)>) -> Self {
        let mut all = Self::default();
        stacks.for_each(|(stack, ns)| all.add(stack, ns));
        all
    }

    fn add(&mut self, stack: &str, ns: u64) {
        let mut at = self;
        at.ns += u128::from(ns);
        for name in stack.split(';').take(DEEPEST) {
            at = at.called.entry(name.to_string()).or_default();
            at.ns += u128::from(ns);
        }
    }

    pub(super) fn ns(&self) -> u128 {
        self.ns
    }

    /// How many frames have so much time.
    fn count(&self, least_ns: f64) -> usize {
        let drawn = self.called.values().filter(|called| called.ns as f64 >= least_ns);
        1 + drawn.map(|called| called.count(least_ns)).sum::<usize>()
    }

    /// All frames that are drawn on so many pixels: each before what it called, and that by name. None where there is no time at all.
    pub(super) fn places<'a>(&'a self, name: &'a str, width: f64) -> Vec<Placed<'a>> {
        if self.ns == 0 {
            return Vec::new();
        }
        let mut least_ns = self.ns as f64 * NARROWEST / width;
        while self.count(least_ns) > MOST {
            least_ns *= 2.0;
        }
        let all = Placed { name, depth: 0, state: "", x: 0.0, width, ns: self.ns };
        let mut placing = Placing { least_ns, width_of_ns: width / self.ns as f64, placed: vec![all] };
        placing.place_called(self, &all, 0);
        placing.placed
    }
}

struct Placing<'a> {
    least_ns: f64,
    width_of_ns: f64,
    placed: Vec<Placed<'a>>,
}

impl<'a> Placing<'a> {
    /// Places what `frame` called, which begins at `from_ns` of all time.
    fn place_called(&mut self, frame: &'a Frame, place: &Placed<'a>, mut from_ns: u128) {
        for (name, called) in &frame.called {
            if called.ns as f64 >= self.least_ns {
                let (name, depth) = (name.as_str(), place.depth + 1);
                let state = if depth == 2 { name } else { place.state };
                let (x, width) = (from_ns as f64 * self.width_of_ns, called.ns as f64 * self.width_of_ns);
                let placed = Placed { name, depth, state, x, width, ns: called.ns };
                self.placed.push(placed);
                self.place_called(called, &placed, from_ns);
            }
            from_ns += called.ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks() -> [(&'static str, u64); 4] {
        [
            ("w;on a CPU;main;parse", 50),
            ("w;on a CPU;main", 25),
            ("w;asleep;main;nap_[k]", 20),
            ("x;asleep", 5),
        ]
    }

    #[test]
    fn a_frame_lies_within_the_one_that_called_it_and_is_as_wide_as_its_time() {
        let all = Frame::of(stacks().into_iter());
        let places = all.places("all", 1_000.0);
        let drawn = places.iter().map(|at| (at.depth, at.name, at.state, at.x.round(), at.width.round()));
        let expected = [
            (0, "all", "", 0.0, 1_000.0),
            (1, "w", "", 0.0, 950.0),
            (2, "asleep", "asleep", 0.0, 200.0),
            (3, "main", "asleep", 0.0, 200.0),
            (4, "nap_[k]", "asleep", 0.0, 200.0),
            (2, "on a CPU", "on a CPU", 200.0, 750.0),
            (3, "main", "on a CPU", 200.0, 750.0),
            (4, "parse", "on a CPU", 200.0, 500.0),
            (1, "x", "", 950.0, 50.0),
            (2, "asleep", "asleep", 950.0, 50.0),
        ];
        assert_eq!(drawn.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_narrower_than_a_tenth_of_a_pixel_is_left_out_and_no_time_draws_nothing() {
        let all = Frame::of([("a;b", 1_000_000), ("c;d", 9), ("e;f", 0)].into_iter());
        assert_eq!(
            all.places("all", 1_000.0).iter().map(|at| at.name).collect::<Vec<_>>(),
            ["all", "a", "b"]
        );
        assert!(Frame::of([("e;f", 0)].into_iter()).places("all", 1_000.0).is_empty());
        assert!(Frame::of(std::iter::empty()).places("all", 1_000.0).is_empty());
    }

    #[test]
    fn depth_and_count_have_an_end() {
        let deep = "f;".repeat(5_000);
        let all = Frame::of([(deep.as_str(), u64::MAX), (deep.as_str(), u64::MAX)].into_iter());
        assert_eq!(all.places("all", 1_000.0).len(), DEEPEST + 1);
        let many: Vec<String> = (0..200_000).map(|at| format!("t;s;{};{at}", at % 5_000)).collect();
        let all = Frame::of(many.iter().map(|stack| (stack.as_str(), 1)));
        let drawn = all.places("all", 100_000.0).len();
        assert!((3..=MOST).contains(&drawn), "{drawn}");
    }

    proptest::proptest! {
        #[test]
        fn no_stacks_panic_and_what_is_called_fits_into_its_caller(
            stacks in proptest::collection::vec(("(?s)[a-c;\u{0}]{0,12}", proptest::num::u64::ANY), 0..20),
        ) {
            let all = Frame::of(stacks.iter().map(|(stack, ns)| (stack.as_str(), *ns)));
            let places = all.places("all", 1_180.0);
            for (at, caller) in places.iter().enumerate() {
                let within = places[at + 1..].iter().take_while(|next| next.depth > caller.depth);
                let called: Vec<_> = within.filter(|next| next.depth == caller.depth + 1).collect();
                proptest::prop_assert!(called.iter().map(|next| next.ns).sum::<u128>() <= caller.ns);
                let mut from = caller.x - 1e-6;
                for next in called {
                    proptest::prop_assert!(next.x >= from && next.width > 0.0);
                    from = next.x + next.width - 1e-6;
                }
                proptest::prop_assert!(from <= caller.x + caller.width + 1e-6);
            }
        }
    }
}
