//! Files that one user hands to another: recipes, plans, distances.
#![allow(clippy::unwrap_used)] // clippy sees only #[test] functions as tests, not what they share

use std::path::Path;
use std::sync::{Arc, OnceLock};

use bolero::check;
use change::act_samples;
use change::apply::{self, ApplyOptions};
use change::{Hand, UndoOptions, undo};
use machine::distances::{CoreDistances, CoreGroup, CorePair, Estimate, FORMAT, MadeOn, Relation};
use machine::distances::{MemoryCell, MemoryDistances};
use machine::persistence::Manner;
use machine::{Distances, Machine, Plan, Planned, Root, knobs};
use report::case::table::Style;
use report::map::distances_text;
use report::map::machine_text;
use report::map::picture;
use report::plan_text;
use serde_json::{Value, json};
use study::Recipe;
use study::engine::prepare::resolve;

use crate::edits;

/// A machine of two nodes, and what it was read from.
fn two_nodes() -> &'static (Root, Machine) {
    static MACHINE: OnceLock<(Root, Machine)> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let dir = Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../fixtures/machines/two-node-smt/capture.tar.zst"
        ));
        let root = Root::at(dir).unwrap();
        let machine = Machine::read(&root);
        (root, machine)
    })
}

/// The text that the bytes stand for: itself, or one of the sound documents with edits of its values.
fn text(bytes: &[u8], sound: &[Value], written: impl Fn(&Value) -> Option<String>) -> Option<String> {
    let [kind, rest @ ..] = bytes else { return None };
    match kind {
        128.. => String::from_utf8(rest.to_vec()).ok(),
        kind => {
            let mut whole = sound[usize::from(*kind) % sound.len()].clone();
            edits::edit(&mut whole, rest);
            written(&whole)
        }
    }
}

/// The recipes that we ship.
fn recipes() -> Vec<Value> {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../recipes"));
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    files.sort();
    let read = |path| json!(toml::from_str::<toml::Value>(&std::fs::read_to_string(path).unwrap()).unwrap());
    files.iter().map(read).collect()
}

/// A recipe, and what it comes to on a machine.
#[test]
fn a_recipe() {
    let recipes = recipes();
    check!().for_each(|bytes: &[u8]| {
        let Some(text) = text(bytes, &recipes, edits::to_toml) else { return };
        let Ok(recipe) = Recipe::from_toml(&text, "recipe") else { return };
        let again = Recipe::from_toml(&recipe.to_toml().unwrap(), "again").unwrap();
        assert_eq!(again.to_toml(), recipe.to_toml());
        let _ = (recipe.title(), recipe.clone().at_full_size());
        if let Ok(study) = resolve(recipe, &two_nodes().1) {
            // What a case could not hold is refused with the recipe.
            toml::to_string(&study).unwrap();
        }
    });
}

/// A plan of every knob that the machine offers.
fn plan(root: &Root) -> Value {
    let mut settings = Vec::new();
    for knob in knobs::ALL {
        let target = knob.targets(root).ok().and_then(|targets| targets.into_iter().next());
        let value = target.as_ref().and_then(|target| knob.read(root, &target.id).ok());
        settings.push(Planned {
            knob: knob.about().id.into(),
            target: target.map_or(machine::plan::MACHINE.into(), |target| target.id),
            value: value.unwrap_or_else(|| "1".into()),
            ..Planned::default()
        });
    }
    json!(Plan { settings, ..Plan::default() })
}

/// A plan that is shown, applied and taken back.
#[test]
fn a_plan() {
    let plans = [plan(&two_nodes().0)];
    let state = tempfile::tempdir().unwrap();
    let ledgers = state.path().join("ledger");
    check!().for_each(|bytes: &[u8]| {
        let (root, _) = two_nodes();
        let Some(text) = text(bytes, &plans, edits::to_toml) else { return };
        let Ok(plan) = Plan::parse(&text) else { return };
        let kernel = act_samples::Machine::new().kernel;
        let foreseen = apply::foresee(root, &kernel, &plan, &[]);
        plan_text::foreseen(&foreseen, true, Style::default());
        serde_json::to_string(&foreseen).unwrap();
        apply::first_placed(root, &plan);
        for manner in [Manner::Platform, Manner::TunedProfile] {
            let _ = apply::foresee_kept(root, &kernel, &plan, manner);
        }
        let mut hand = Hand::with(Arc::new(kernel.clone()), &ledgers, "a plan").unwrap();
        let options = ApplyOptions { keep_going: true, persist: Some(Manner::Platform) };
        let applied = apply::apply(&mut hand, root, &plan, options, &|| None, &mut |_| ());
        plan_text::applied(&applied, None);
        hand.finish().unwrap();
        let options = UndoOptions { owned_too: true, ..UndoOptions::default() };
        // The machine of the kernel is another one than that of the root: not all of it can be put back.
        let _ = undo(&ledgers, &kernel, &options).unwrap().to_string();
        std::fs::remove_dir_all(&ledgers).unwrap();
    });
}

/// Distances of two CPUs and two nodes of the machine.
fn distances() -> Value {
    let (root, machine) = two_nodes();
    let estimate = Estimate { median: 50.0, interval: Some((45.0, 60.0)), rounds: 7 };
    let pair = |(from, to)| CorePair {
        from,
        to,
        relation: Relation::Machine,
        ns: estimate,
        batches: 100,
        slow_batches: 1,
        unsure: None,
    };
    let group =
        CoreGroup { relation: Relation::Machine, pairs: 2, ns: estimate, lowest_ns: 45.0, highest_ns: 60.0 };
    let cell = |(from, memory)| MemoryCell {
        from,
        memory,
        cpus: "0-1".parse().unwrap(),
        latency_ns: Some(estimate),
        read_mb_per_s: Some(estimate),
        write_mb_per_s: Some(estimate),
        latency_buffer: Default::default(),
        bandwidth_buffer: Default::default(),
    };
    json!(Distances {
        format: FORMAT,
        made_on: MadeOn::of(machine, root),
        cores: Some(CoreDistances {
            cpus: vec![0, 1],
            rounds: 7,
            pairs: vec![pair((0, 1)), pair((1, 0))],
            groups: vec![group],
            ..CoreDistances::default()
        }),
        memory: Some(MemoryDistances {
            rounds: 7,
            cells: [(0, 0), (0, 1), (1, 0), (1, 1)].map(cell).into(),
            ..MemoryDistances::default()
        }),
        ..Distances::default()
    })
}

/// Measured distances, shown by themselves and on the map of their machine.
#[test]
fn measured_distances() {
    let sound = [distances()];
    check!().for_each(|bytes: &[u8]| {
        let (root, machine) = two_nodes();
        let Some(text) = text(bytes, &sound, |value| Some(value.to_string())) else { return };
        let Ok(distances) = Distances::parse(&text) else { return };
        distances_text::render(&distances, Style { colour: true, width: 100 });
        distances_text::render(&distances, Style::default());
        if distances.made_on.differs_from(machine, root).is_none() {
            let mut machine = machine.clone();
            machine.measured_distances = Some(distances);
            machine_text::render(&machine);
            picture::svg(&machine, None);
            serde_json::to_string(&machine).unwrap();
        }
    });
}
