//! What is searched: a landscape, the arms on it, and the best that there is.

use std::cell::RefCell;
use std::collections::HashMap;

use machine::CpuSet;
use pinwise_study::search::{Factor, Point, Sizes, Space, Symmetry};
use pinwise_study::simulated::{Landscape, MemoryPolicy, Trials, Truth};

/// Arms that are listed at most.
const LISTED: usize = 6000;

/// One landscape, ready to be searched.
pub struct Problem {
    pub truth: Truth,
    pub space: Space,
    pub sizes: Vec<Sizes>,
    pub best_name: String,
    best: f64,
    known: RefCell<HashMap<(CpuSet, usize), f64>>,
}

impl Problem {
    /// Reads the landscape: all sizes up to 24 CPUs, an eighth of the machine and its multiples beyond; memory local or
    /// interleaved.
    pub fn read(name: &str, steady: bool) -> Self {
        let path = format!("{}/../../fixtures/landscapes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let mut landscape = Landscape::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
        if steady {
            landscape.noise.drift = 0.0;
        }
        let truth = landscape.truth();
        let all = truth.machine().cpus.len();
        let step = if all <= 24 { 1 } else { all / 16 };
        let sizes: Vec<Sizes> = (1..=all / step).map(|n| Sizes::server(n * step)).collect();
        let symmetry = Symmetry::of(truth.machine(), None).unwrap();
        let memory = Factor { name: "memory".into(), levels: vec!["local".into(), "interleave".into()] };
        let space = Space::new(symmetry, &sizes, vec![memory], LISTED);
        let mut problem =
            Self { truth, space, sizes, best_name: String::new(), best: 0.0, known: RefCell::default() };
        problem.find_best();
        problem
    }

    /// The best of the arms that are listed; where not all are, climbed on from the ten best to what lies beside.
    fn find_best(&mut self) {
        let mut space = self.space.clone();
        let figure = |problem: &Self, space: &Space, arm: usize| problem.figure(space.point(arm).unwrap());
        let mut order: Vec<usize> = (0..space.len()).collect();
        order.sort_by(|a, b| figure(self, &space, *b).total_cmp(&figure(self, &space, *a)));
        let starts = if space.is_complete() { 1 } else { 10 };
        for start in order.into_iter().take(starts) {
            let mut at = start;
            while !space.is_complete() {
                let beside = space.neighbours(at);
                let better = beside
                    .into_iter()
                    .max_by(|a, b| figure(self, &space, *a).total_cmp(&figure(self, &space, *b)));
                match better.filter(|arm| figure(self, &space, *arm) > figure(self, &space, at)) {
                    Some(arm) => at = arm,
                    None => break,
                }
            }
            if figure(self, &space, at) > self.best {
                self.best = figure(self, &space, at);
                self.best_name = space.name(at);
            }
        }
    }

    pub fn cpus(&self) -> usize {
        self.truth.machine().cpus.len()
    }

    /// Trials of one pass over all listed arms, references counted.
    pub fn pass(&self) -> usize {
        self.space.len() + self.space.len().div_ceil(8)
    }

    pub fn trials(&self, seed: u64) -> Trials {
        Trials::new(self.truth.landscape().noise, seed)
    }

    pub fn figure(&self, point: &Point) -> f64 {
        self.figure_of(&point.class.server, point.levels[0])
    }

    pub fn figure_of(&self, server: &CpuSet, level: usize) -> f64 {
        let key = (server.clone(), level);
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let policy = if level == 1 { MemoryPolicy::Interleave } else { MemoryPolicy::Local };
        let figure = self.truth.figure(server, &CpuSet::new(), policy);
        self.known.borrow_mut().insert(key, figure);
        figure
    }

    pub fn is_good(&self, point: &Point) -> bool {
        self.is_good_figure(self.figure(point))
    }

    pub fn is_good_figure(&self, figure: f64) -> bool {
        figure >= 0.98 * self.best
    }
}
