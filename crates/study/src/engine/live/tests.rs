//! Which arms of a running server are refused, and what faults of trials quote. Nothing is started, and no machine is changed.

use change::LiveKernel;
use machine::plan::SERVER;
use machine::{Setting, Tree};

use super::*;
use crate::arm::Role;
use crate::case::tests::resolved;
use crate::levels::tests::two_nodes_of_two_cores_of_two_threads as machine;

fn recipe(text: &str) -> Recipe {
    Recipe::from_toml(text, "x").unwrap().with_directions().unwrap()
}

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

/// A search among these numbers of CPUs and these scheduling policies, in a case.
fn searched(dir: &Path, sizes: &str, policies: &str) -> Case {
    let mut recipe = recipe(&format!(
        "[search]\nserver = {sizes}\n[[factors]]\nkind = 'knob'\nknob = 'scheduling-policy'\ntarget = 'server'\nvalues = {policies}\n"
    ));
    let arms = case_search::controls(&recipe, &machine()).unwrap();
    (recipe.server.running, recipe.server.port) = (Some("4711".into()), Some(80));
    Case::create(dir, Resolved { recipe, arms, order: Vec::new(), ..resolved() }).unwrap()
}

#[test]
fn arms_that_a_search_may_add_have_to_leave_pinwise_a_cpu_as_well() {
    let all = set("0-7");
    let checked = |sizes: &str, policies: &str| {
        let dir = tempfile::tempdir().unwrap();
        let case = searched(&dir.path().join("case"), sizes, policies);
        let added = searched_arms(&case, &case.study, &machine())?;
        watchable(&case.study, &added, Ground { ours: &all, has: None, throttled: Some(true) })
    };
    let fault = checked("[2, 8]", "['other', 'fifo:10']").unwrap_err();
    assert!(fault.class == Class::MachineLacks && fault.cause.contains("CPUs 0-7"), "{fault}");
    assert!(fault.remedy.contains("search.server"), "{fault}");
    checked("[1, 2]", "['other', 'fifo:10']").unwrap();
    checked("[2, 8]", "['other', 'batch']").unwrap();
}

#[test]
fn of_a_server_that_the_study_starts_no_arm_of_its_search_is_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let case = searched(&dir.path().join("case"), "[8]", "['fifo:10']");
    let mut study = case.study.clone();
    study.recipe.server.running = None;
    assert!(searched_arms(&case, &study, &machine()).unwrap().is_empty());
    assert!(!searched_arms(&case, &case.study, &machine()).unwrap().is_empty(), "it would be");
}

/// Trials of a recipe whose ledger is in `place`, on 8 CPUs.
fn live(place: &Path, text: &str) -> LiveTrials {
    let study = Resolved { recipe: recipe(text), ..resolved() };
    let case = Case::create(&place.join("case"), study).unwrap();
    let study = case.revealed().unwrap();
    let (_, secrets) = study.recipe.concealed().unwrap();
    let throttled = Tree::new()
        .file("/proc/sys/kernel/sched_rt_runtime_us", "950000\n")
        .file("/proc/sys/kernel/sched_rt_period_us", "1000000\n");
    LiveTrials {
        root: Arc::new(Root::from_tree(throttled)),
        hand: Hand::with(Arc::new(LiveKernel::new()), &place.join("ledger"), "test").unwrap(),
        study,
        secrets,
        exe: PathBuf::from("/nowhere/pinwise"),
        allowed: set("0-7"),
        nodes: None,
        data: Data::of_case(&case).unwrap(),
        swap: Areas::default(),
        case: case.dir().to_path_buf(),
        trials: case.trials_folder().unwrap(),
        observed: None,
        locks_from: None,
        machine: machine(),
        reference: None,
        settling: Settling::default(),
        server_has: None,
        hosts: None,
        interrupted: Arc::new(AtomicBool::new(false)),
    }
}

fn fault(trials: &mut LiveTrials, arm: &Arm) -> Fault {
    let planned = Planned { index: 0, block: 0, position: 0, attempt: 0, arm, observed: false };
    trials.run(&planned, Path::new("0000")).unwrap_err()
}

#[test]
fn an_arm_is_refused_before_its_trial_whoever_added_it() {
    let place = tempfile::tempdir().unwrap();
    let text = "[server]\nrunning = '4711'\nport = 80\n[load]\ndriver = 'http'\n";
    let mut trials = live(place.path(), text);
    let mut of = |server: &str| {
        let policy =
            Setting { knob: "scheduling-policy".into(), target: SERVER.into(), value: "fifo:10".into() };
        let placement =
            Placement { server_cpus: Some(set(server)), settings: vec![policy], ..Placement::default() };
        // No level may have this key: a trial that is not refused before ends with that.
        let keys = [("nonsense".to_string(), toml::Value::from(1))].into();
        fault(&mut trials, &Arm { keys, ..Arm::new("added", Role::Candidate, placement) })
    };
    let refused = of("0-7");
    assert!(refused.object.contains("arm added") && refused.class == Class::MachineLacks, "{refused}");
    let watched = of("0-6");
    assert!(watched.object.contains("nonsense"), "{watched}");
}

#[test]
fn no_fault_of_a_trial_quotes_a_secret_that_of_a_swap_area_neither() {
    let text = |folder: &str| {
        format!(
            "[server]\ncommand = 'x'\nmemory_limit_mb = 64\nswap_mb = 1\nswap_dir = '{folder}'\n\
             [load]\ndriver = 'nats'\nuser = 'ann'\npassword = 'hunter2-XYZ'\n"
        )
    };
    let of = |folder: &str| {
        let place = tempfile::tempdir().unwrap();
        let mut trials = live(place.path(), &text(folder));
        fault(&mut trials, &Arm::new("tried", Role::Candidate, Placement::default()))
    };
    let quoted = of("/nowhere/hunter2-XYZ");
    assert_eq!(quoted.object, "/nowhere/(secret)", "{quoted}");
    assert!(quoted.remedy.contains("swap_dir"), "{quoted}");
    assert_eq!(of("/nowhere/of-ann").object, "/nowhere/of-ann", "what is no secret is quoted");
}
