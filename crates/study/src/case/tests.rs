//! Cases that are written, killed and read.

use std::fs;

use super::search_log::Asked;
use super::*;
use crate::arm::each_cpu_in_turn;
use crate::boots::Boots;
use crate::recipe::Recipe;
use machine::CpuSet;

pub(crate) fn resolved() -> Resolved {
    let both = CpuSet::from_list("0-1").unwrap();
    // With a load that is placed there are no relations of server and load to try: five arms.
    let arms = each_cpu_in_turn(&both, &both, Some(&both)).unwrap();
    Resolved {
        format: FORMAT,
        pinwise: "0.1.0".into(),
        made_unix_s: 0,
        command: vec!["pinwise".into(), "study".into()],
        order: crate::design::draw_order(arms.len(), 2, 1),
        boots: None,
        string_rounds: Some(10),
        recipe: Recipe::from_toml("", "x").unwrap().with_directions().unwrap(),
        arms,
        stages: Vec::new(),
        found: None,
        added: Vec::new(),
    }
}

fn trial(index: usize) -> Trial {
    Trial { index, position: index, arm: "cpu 0".into(), ..Trial::default() }
}

#[test]
fn what_was_appended_is_there_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut case = Case::create(dir.path(), resolved()).unwrap();
    case.append(trial(0)).unwrap();
    case.append(trial(1)).unwrap();
    drop(case);
    let case = Case::open(dir.path()).unwrap();
    assert_eq!(case.trials, [trial(0), trial(1)]);
    assert_eq!(case.study, resolved());
    let next = case.next().unwrap();
    assert_eq!((next.block, next.position), (0, 2));
}

#[test]
fn a_case_cut_anywhere_in_its_last_line_loses_only_that_trial() {
    let dir = tempfile::tempdir().unwrap();
    let mut case = Case::create(dir.path(), resolved()).unwrap();
    (0..3).for_each(|i| case.append(trial(i)).unwrap());
    drop(case);
    let path = dir.path().join("trials.jsonl");
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    for cut in last + 1..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let read = Case::open(dir.path()).unwrap();
        assert_eq!((read.trials.len(), read.repairs.len()), (2, 1), "cut at {cut}");
        drop(read);
        let mut resumed = Case::resume(dir.path()).unwrap();
        assert_eq!(resumed.next().unwrap().position, 2);
        resumed.append(trial(2)).unwrap();
        drop(resumed);
        assert_eq!(Case::open(dir.path()).unwrap().trials.len(), 3);
    }
}

#[test]
fn a_malformed_line_in_the_middle_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut case = Case::create(dir.path(), resolved()).unwrap();
    case.append(trial(0)).unwrap();
    let path = dir.path().join("trials.jsonl");
    let good = fs::read(&path).unwrap();
    fs::write(&path, [b"{\"index\": }\n".as_slice(), &good].concat()).unwrap();
    let fault = Case::open(dir.path()).unwrap_err();
    assert!(fault.object.ends_with("trials.jsonl:1"), "{fault}");
}

/// A case is open to anybody who hands it over: with these numbers the reader would count for years.
#[test]
fn numbers_that_no_study_has_are_refused_with_their_key() {
    let refused = |change: &dyn Fn(&mut Resolved)| {
        let (dir, mut study) = (tempfile::tempdir().unwrap(), resolved());
        change(&mut study);
        fs::write(dir.path().join(STUDY), toml::to_string(&study).unwrap()).unwrap();
        Case::open(dir.path()).unwrap_err().to_string()
    };
    let most = i64::MAX as usize;
    assert!(refused(&|study| study.recipe.budget.attempts = most).contains("budget.attempts"));
    assert!(refused(&|study| study.recipe.precision.alpha = f64::NAN).contains("precision.alpha"));
    let endless = || Some(crate::recipe::Search { trials: most, ..Default::default() });
    assert!(refused(&|study| study.recipe.search = endless()).contains("search.trials"));
    let boots = |trials| Some(Boots { trials, ..Boots::default() });
    for trials in
        [vec![], vec![vec![5], vec![4]], vec![vec![5, 0], vec![5]], vec![vec![5], vec![most, most, 7]]]
    {
        let said = refused(&|study| study.boots = boots(trials.clone()));
        assert!(said.contains("boots of"), "{said}");
    }
    assert!(refused(&|study| study.order = vec![vec![0]; 401]).contains("it has 401 blocks, and 400"));
}

#[test]
fn blocks_that_are_added_or_confirm_a_search_are_bounded_too() {
    let (dir, mut study) = (tempfile::tempdir().unwrap(), resolved());
    let write =
        |name: &str, line: &str, times: usize| fs::write(dir.path().join(name), line.repeat(times)).unwrap();
    write(STUDY, &toml::to_string(&study).unwrap(), 1);
    let added =
        added_blocks::Line { first_block: 2, made_unix_s: 0, order: vec![vec![0]; 399], boots: Vec::new() };
    write(ADDED, &(serde_json::to_string(&added).unwrap() + "\n"), 1);
    let fault = Case::open(dir.path()).unwrap_err();
    assert!(fault.object.ends_with("added.jsonl:1") && fault.cause.contains("401 blocks"), "{fault}");
    fs::remove_file(dir.path().join(ADDED)).unwrap();
    study.recipe.search = Some(Default::default());
    write(STUDY, &toml::to_string(&study).unwrap(), 1);
    let block = |stage| {
        serde_json::to_string(&Line::Block(Asked { stage, arms: Vec::new(), order: vec![0] })).unwrap() + "\n"
    };
    write(SEARCH, &block(Stage::Race), 2_000);
    assert_eq!(Case::open(dir.path()).unwrap().study.order.len(), 2_002);
    write(SEARCH, &block(Stage::Confirm), 401);
    let fault = Case::open(dir.path()).unwrap_err();
    assert!(fault.object.ends_with("search.jsonl") && fault.cause.contains("401 blocks"), "{fault}");
}

#[test]
fn a_second_writer_is_kept_out() {
    let dir = tempfile::tempdir().unwrap();
    let _first = Case::create(dir.path(), resolved()).unwrap();
    let fault = Case::resume(dir.path()).unwrap_err();
    assert!(fault.cause.contains("another pinwise"), "{fault}");
}

#[test]
fn no_case_and_an_existing_case_are_distinguished() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Case::open(dir.path()).unwrap_err().cause.contains("no case"));
    drop(Case::create(dir.path(), resolved()).unwrap());
    assert!(Case::create(dir.path(), resolved()).unwrap_err().remedy.contains("resume"));
}

#[test]
fn added_blocks_are_there_again_and_a_torn_addition_counts_as_none() {
    let dir = tempfile::tempdir().unwrap();
    let mut case = Case::create(dir.path(), resolved()).unwrap();
    let added = case.add_blocks(3, 9).unwrap();
    assert_eq!((added.first_block, added.blocks, added.made_unix_s), (2, 3, 9));
    let order = case.study.order.clone();
    drop(case);
    let read = Case::open(dir.path()).unwrap();
    assert_eq!((&read.study.order, &read.study.added[..]), (&order, &[added][..]));
    drop(read);
    let path = dir.path().join(ADDED);
    let whole = fs::read(&path).unwrap();
    for cut in 1..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let read = Case::open(dir.path()).unwrap();
        assert_eq!((read.study.order.len(), read.repairs.len()), (2, 1), "cut at {cut}");
    }
    let mut resumed = Case::resume(dir.path()).unwrap();
    resumed.add_blocks(3, 9).unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole, "the same blocks are drawn again");
}

#[test]
fn a_case_that_never_began_leaves_nothing() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("cases/new");
    let beside = |case: &Case| case.write_json("machine.json", &1).map(drop);
    let mut case = Case::create_with(&dir, resolved(), beside).unwrap();
    fs::create_dir_all(case.trial_dir(0)).unwrap();
    fs::write(case.trial_dir(0).join("server.log"), "x").unwrap();
    assert!(case.discard_unbegun());
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0, "the folder above it was made for it, too");
    assert!(!case.discard_unbegun());
}

#[test]
fn what_lay_in_the_folder_before_stays() {
    let base = tempfile::tempdir().unwrap();
    let listed = || {
        let mut names: Vec<_> = fs::read_dir(base.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    fs::write(base.path().join("notes.txt"), "mine").unwrap();
    fs::write(base.path().join("machine.json"), "mine").unwrap();
    let mut case = Case::create(base.path(), resolved()).unwrap();
    fs::write(base.path().join("report.html"), "of somebody else").unwrap();
    assert!(case.discard_unbegun());
    assert_eq!(listed(), ["machine.json", "notes.txt", "report.html"]);
    drop(case);

    let fails = |_: &Case| Err(Fault::new(Class::Storage, "x", "full", ""));
    assert!(Case::create_with(base.path(), resolved(), fails).is_err());
    assert_eq!(listed(), ["machine.json", "notes.txt", "report.html"]);

    let mut case = Case::create(base.path(), resolved()).unwrap();
    case.append(trial(0)).unwrap();
    assert!(!case.discard_unbegun(), "it holds a trial");
    drop(case);
    let mut case = Case::resume(base.path()).unwrap();
    assert!(!case.discard_unbegun(), "another process made it");
}

fn with_a_password() -> Resolved {
    let text = "[load]\ndriver = 'nats'\nuser = 'ann'\npassword = 'hunter2-XYZ'\n";
    Resolved { recipe: Recipe::from_toml(text, "x").unwrap().with_directions().unwrap(), ..resolved() }
}

#[test]
fn secrets_lie_in_a_file_of_their_own_and_come_back_to_run_the_study() {
    let dir = tempfile::tempdir().unwrap();
    let made = Case::create(dir.path(), with_a_password()).unwrap();
    assert_eq!(made.revealed().unwrap(), with_a_password());
    drop(made);
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert!(read("study.toml").contains("ann") && !read("study.toml").contains("hunter2"));
    assert_eq!(read("secrets.toml"), "[load]\npassword = \"hunter2-XYZ\"\n");
    let case = Case::open(dir.path()).unwrap();
    assert!(!format!("{case:?}").contains("hunter2"));
    assert_eq!(case.revealed().unwrap(), with_a_password());

    fs::remove_file(dir.path().join("secrets.toml")).unwrap();
    let fault = case.revealed().unwrap_err();
    assert!(fault.object.ends_with("secrets.toml") && fault.cause.contains("load.password"), "{fault}");
    // A study without secrets has no such file, and misses none.
    let dir = tempfile::tempdir().unwrap();
    let case = Case::create(dir.path(), resolved()).unwrap();
    assert!(!dir.path().join("secrets.toml").exists());
    assert_eq!(case.revealed().unwrap(), resolved());
}

#[test]
fn what_an_older_case_has_in_its_study_is_concealed_and_runs() {
    let dir = tempfile::tempdir().unwrap();
    drop(Case::create(dir.path(), resolved()).unwrap());
    fs::write(dir.path().join("study.toml"), toml::to_string(&with_a_password()).unwrap()).unwrap();
    let case = Case::open(dir.path()).unwrap();
    assert!(!case.study.recipe.to_toml().unwrap().contains("hunter2"));
    assert_eq!(case.revealed().unwrap(), with_a_password());
}

#[test]
fn a_damaged_file_of_secrets_is_named_and_not_quoted() {
    let dir = tempfile::tempdir().unwrap();
    let case = Case::create(dir.path(), with_a_password()).unwrap();
    drop(case);
    for text in
        ["[load]\npassword = hunter2-XYZ\n", "password = 'hunter2-XYZ'\n", "[load]\nuser = 'hunter2-XYZ'\n"]
    {
        fs::write(dir.path().join("secrets.toml"), text).unwrap();
        let fault = Case::open(dir.path()).unwrap().revealed().unwrap_err().to_string();
        assert!(fault.contains("secrets.toml") && !fault.contains("hunter2"), "{fault}");
    }
}
