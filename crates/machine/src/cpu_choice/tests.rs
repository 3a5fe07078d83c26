mod algebra;

use super::*;
use crate::topology::caches::{Cache, CacheType};
use crate::topology::cpus::Cpu;
use crate::topology::kinds::CoreKind;
use crate::topology::nodes::Node;
use crate::{FactId, Missing};

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

/// Two nodes of two cores of two threads; CPU n and n + 4 are of one core, and the nodes' numbers have a hole. CPU 7 may not be used,
/// and 8 and 9 are not there yet.
fn machine() -> Machine {
    let cpu = |id: u32| Cpu {
        id,
        online: true,
        allowed: Some(id != 7),
        siblings: Some(set(&format!("{},{}", id % 4, id % 4 + 4))),
        ..Cpu::default()
    };
    let node = |id, cpus: &str| Node { id, cpus: set(cpus), ..Node::default() };
    let l3 = |cpus| Cache { level: 3, kind: CacheType::Unified, bytes: None, cpus: set(cpus) };
    Machine {
        cpus: (0..8).map(cpu).collect(),
        possible: Some(set("0-9")),
        nodes: vec![node(0, "0-1,4-5"), node(2, "2-3,6-7")],
        packages: vec![set("0-7")],
        caches: vec![l3("0,4"), l3("1-3,5-7")],
        ..Machine::default()
    }
}

fn chosen(text: &str) -> String {
    match resolve(text, &machine()) {
        Ok(cpus) => cpus.to_list(),
        Err(fault) => fault.cause,
    }
}

#[test]
fn terms_add_and_take_away_in_order() {
    for (text, cpus) in [
        ("0-1,4", "0-1,4"),
        ("node:2", "2-3,6"),
        ("!node:0", "2-3,6"),
        ("node:0,!siblings", "0-1"),
        ("all,!siblings, !0", "1-3"),
        ("package:0", "0-6"),
        ("!node:0,0", "0,2-3,6"),
        ("l3:1", "1-3,5-6"),
        ("llc:0,core:2", "0,2,4,6"),
        ("smt:1", "4-6"),
        ("!7", "0-6"),
    ] {
        assert_eq!(chosen(text), cpus, "{text}");
    }
}

#[test]
fn what_words_have_in_common_is_left() {
    for (text, cpus) in [
        ("node:0 & smt:0", "0-1"),
        ("node:2 & !l3:0 & !smt:1", "2-3"),
        ("!node:0 & smt:0", "2-3"),
        ("5,node:0&!siblings", "0-1,5"),
        ("all & 0-2", "0-2"),
    ] {
        assert_eq!(chosen(text), cpus, "{text}");
    }
    assert!(chosen("l3:0 & node:2").contains("leaves no CPU"));
}

#[test]
fn a_choice_in_parentheses_is_one_word() {
    for (text, cpus) in [
        ("((node:0))", "0-1,4-5"),
        ("!(node:0,3)", "2,6"),
        ("(l3:0,l3:1) & smt:0", "0-3"),
        ("(node:0,2) & !smt:1", "0-2"),
        ("(!node:0) & smt:0", "2-3"),
        ("node:0,!(smt:1,0)", "1"),
        ("(0-3,!(1,2)),5", "0,3,5"),
        ("!(all,!node:0)", "0-1,4-5"),
        ("(l3:0 & node:2),1", "1"),
        ("all,!(siblings,0)", "1-3"),
        // What may not be used may be left out, here as without parentheses.
        ("!(7)", "0-6"),
        ("!(7,node:0)", "2-3,6"),
        ("all & !(7,(smt:0))", "4-6"),
    ] {
        assert_eq!(chosen(text), cpus, "{text}");
    }
    assert!(chosen("(l3:0 & node:2)").contains("leaves no CPU"));
    assert!(chosen("(7,node:0)").contains("may not run on 7"));
    assert!(chosen("!(9,node:0)").contains("may not run on 9"));
    assert!(chosen("(node:0,(l3:0 & node:1))").contains("no node 1"));
    assert!(chosen("!(node:0").contains("character 2: this parenthesis is not closed"));
    assert!(FORM.contains("parentheses"));
}

#[test]
fn strides_and_the_last_cpu_are_as_in_the_kernel() {
    assert_eq!(chosen("0-6:1/2"), "0,2,4,6");
    assert_eq!(chosen("node:0-2:1/2"), "0-6");
    // Up to the last possible CPU, of those that are there.
    assert_eq!(chosen("4-N"), "4-6");
    assert_eq!(chosen("1-N:1/4"), "1,5");
    assert_eq!(chosen("node:1-N"), "2-3,6");
    assert!(chosen("N").contains("may not run on 9"), "{}", chosen("N"));
    let mut machine = machine();
    machine.possible = Some(set("0-6"));
    assert_eq!(resolve("N", &machine).unwrap().to_list(), "6");
    machine.possible = None;
    assert_eq!(resolve("4-N", &machine).unwrap().to_list(), "4-6");
    assert_eq!(resolve("N", &machine).unwrap_err().class, Class::MachineLacks);
}

#[test]
fn a_sibling_whose_first_thread_may_not_be_used_is_the_first() {
    let mut machine = machine();
    machine.cpus[1].allowed = Some(false);
    assert_eq!(resolve("all,!siblings", &machine).unwrap().to_list(), "0,2-3,5");
}

#[test]
fn cpus_that_the_kernel_keeps_apart_are_had_by_name_although_nobody_may_use_them_unasked() {
    let mut machine = machine();
    for text in ["nohz_full", "nohz_full:0", "0,isolated", "isolated & node:0"] {
        assert_eq!(resolve(text, &machine).unwrap_err().class, Class::MachineLacks, "{text}");
    }
    let remedy = |text: &str| resolve(text, &machine).unwrap_err().remedy;
    assert!(remedy("isolated").contains("isolcpus=") && remedy("isolated").contains("cpuset.cpus.partition"));
    assert!(remedy("nohz_full").contains("nohz_full=") && !remedy("nohz_full").contains("cpuset"));
    for text in ["!isolated", "all & !isolated"] {
        assert_eq!(resolve(text, &machine).unwrap().to_list(), "0-6");
    }
    machine.kernel.isolated = Some(set("5-7"));
    machine.kernel.nohz_full = Some(set("6-7"));
    let chosen = |text: &str| resolve(text, &machine).unwrap().to_list();
    assert_eq!([chosen("nohz_full"), chosen("nohz_full:1"), chosen("isolated:0-1")], ["6-7", "7", "5-6"]);
    assert_eq!([chosen("isolated,!nohz_full"), chosen("!isolated")], ["5", "0-4"]);
    assert_eq!(
        [chosen("isolated & node:2"), chosen("isolated & !6"), chosen("isolated:1-N")],
        ["6-7", "5,7", "6-7"]
    );
    assert_eq!(chosen("isolated & 7"), "7", "it is asked for");
    assert!(resolve("nohz_full:2", &machine).unwrap_err().cause.contains("2 CPUs are nohz_full (6-7)"));
    assert!(resolve("nohz_full:x", &machine).is_err());
}

#[test]
fn parentheses_ask_for_cpus_that_are_kept_apart_as_their_words_do() {
    let mut machine = machine();
    assert_eq!(resolve("!(isolated,0)", &machine).unwrap().to_list(), "1-6");
    assert_eq!(resolve("(isolated,0)", &machine).unwrap_err().class, Class::MachineLacks);
    machine.kernel.isolated = Some(set("5-7"));
    let chosen = |machine: &Machine, text: &str| resolve(text, machine).unwrap().to_list();
    for (text, cpus) in [
        ("(isolated) & node:2", "6-7"),
        ("isolated & (node:0,node:2)", "5-7"),
        ("(isolated,node:2) & smt:1", "5-7"),
        ("!(isolated,0)", "1-4"),
    ] {
        assert_eq!(chosen(&machine, text), cpus, "{text}");
    }
    // CPU 7 is of node 2, and nobody has asked for it.
    machine.kernel.isolated = Some(set("5-6"));
    assert_eq!(chosen(&machine, "(isolated,node:2) & smt:1"), "5-6");
}

#[test]
fn one_thread_a_core_of_cpus_that_are_kept_apart() {
    let mut machine = machine();
    for cpu in [2, 3, 6] {
        machine.cpus[cpu].allowed = Some(false);
    }
    machine.kernel.isolated = Some(set("2-3,6-7"));
    assert_eq!(resolve("isolated,!siblings", &machine).unwrap().to_list(), "2-3");
    assert_eq!(resolve("isolated & smt:0", &machine).unwrap().to_list(), "2-3");
}

#[test]
fn kinds_of_cores_have_words() {
    let kind = |name: &str, cpus| CoreKind { name: name.into(), cpus: set(cpus) };
    let core_kinds = vec![kind("cpu_core", "0-3"), kind("cpu_atom", "4-7")];
    let hybrid = Machine { core_kinds, ..machine() };
    let chosen = |text: &str| resolve(text, &hybrid).unwrap().to_list();
    assert_eq!([chosen("kind:performance"), chosen("kind:0")], ["0-3", "0-3"]);
    assert_eq!([chosen("kind:efficiency"), chosen("kind:cpu_atom & !5")], ["4-6", "4,6"]);
    let fault = resolve("kind:fast", &hybrid).unwrap_err();
    assert!(fault.cause.contains("no kind fast (there are: kind:0 .. kind:1, kind:performance"), "{fault}");
}

#[test]
fn what_is_wrong_is_named() {
    for (text, why) in [
        ("7", "may not run on 7"),
        ("0-9", "may not run on 7-9"),
        ("node:1", "no node 1 (there are: node:0, node:2)"),
        ("l3:2", "no l3 2 (there are: l3:0 .. l3:1)"),
        ("all,!node:0,!node:2", "leaves no CPU (allowed: 0-6)"),
        ("", "character 1: it names no CPU"),
        ("0, node:x", "character 9: 'x' is not a number"),
    ] {
        let fault = resolve(text, &machine()).unwrap_err();
        assert!(fault.cause.contains(why) && fault.object.contains(text), "{fault}");
        assert_eq!(fault.class, Class::Usage, "{fault}");
    }
}

#[test]
fn a_machine_without_such_groups_says_which_there_are_and_why() {
    let mut machine = machine();
    let fault = resolve("cluster:0", &machine).unwrap_err();
    assert_eq!(fault.class, Class::MachineLacks);
    assert!(fault.cause.contains("no cluster: its kernel reports no clusters"), "{fault}");
    assert!(fault.remedy.contains("node:0, node:2") && fault.remedy.contains("l3:0 .. l3:1"), "{fault}");
    machine.caches.clear();
    machine.missing.push(Missing::new("caches of CPUs 0-7", "index0/level: x").identified(FactId::Caches));
    let fault = resolve("!l3:0", &machine).unwrap_err();
    assert!(fault.cause.contains("caches of CPUs 0-7 could not be read: index0/level: x"), "{fault}");
    let fault = resolve("kind:performance", &machine).unwrap_err();
    assert!(fault.cause.contains("does not report several kinds of cores"), "{fault}");
    let unknown = resolve("die:0", &Machine::default()).unwrap_err();
    assert_eq!(unknown.remedy, "name CPUs by number");
}

#[test]
fn what_is_only_looked_at_may_be_any_cpu_that_is_online() {
    let mut machine = machine();
    machine.cpus[5].online = false;
    let seen = |text: &str| text.parse::<CpuChoice>().unwrap().of_online(&machine);
    assert_eq!(seen("node:2").unwrap().to_list(), "2-3,6-7");
    assert_eq!(seen("7").unwrap().to_list(), "7");
    let fault = seen("5,7").unwrap_err();
    assert!(fault.class == Class::Usage && fault.cause == "not online: 5 (online: 0-4,6-7)", "{fault}");
    let unknown = |text: &str| text.parse::<CpuChoice>().unwrap().of_online(&Machine::default());
    assert_eq!(unknown("1-2").unwrap().to_list(), "1-2");
    assert!(unknown("node:0").is_err());
}

#[test]
fn texts_are_kept_and_numbers_have_one_form() {
    let json = |text: &str| serde_json::to_string(&text.parse::<CpuChoice>().unwrap()).unwrap();
    assert_eq!(json(" l3:0 & smt:0 "), "\"l3:0 & smt:0\"");
    assert_eq!(json("3,0-1"), "[0,1,3]");
    let read = |json: &str| serde_json::from_str::<CpuChoice>(json).unwrap();
    assert_eq!(read("[3, 1, 0]"), "3,0-1".parse().unwrap());
    assert_eq!(read("\"0-1,3\"").to_string(), "0-1,3");
    assert!(serde_json::from_str::<CpuChoice>("[0, 1048576]").unwrap_err().to_string().contains("is past"));
    let fault = serde_json::from_str::<CpuChoice>("\"0,three\"").unwrap_err().to_string();
    assert!(fault.contains("'0,three' names no CPUs: character 3: 'three'"), "{fault}");
    assert!("x".repeat(1 << 20).parse::<CpuChoice>().unwrap_err().to_string().len() < 2_000);
    // Half a million numbers.
    let fault = resolve("0-1048575:1/2", &machine()).unwrap_err();
    assert!(fault.object == "CPUs '0-1048575:1/2'" && fault.to_string().len() < 2_000, "{}", fault.object);
    let fault = resolve(&"9,".repeat(1 << 10), &machine()).unwrap_err();
    assert!(fault.object.ends_with("...'") && fault.to_string().len() < 2_000, "{}", fault.object);
}

#[test]
fn what_is_wrong_with_numbers_is_said_of_the_text_that_was_asked_for() {
    let choice: CpuChoice = " 0-15:1/2 ".parse().unwrap();
    for fault in [choice.on(&machine()).unwrap_err(), choice.of_online(&machine()).unwrap_err()] {
        assert_eq!(fault.object, "CPUs '0-15:1/2'");
        assert!(fault.cause.contains(" 8"), "{fault}");
    }
    // It is the same as its numbers, and is written so.
    assert_eq!(choice, "0,2,4,6,8,10,12,14".parse().unwrap());
    assert_eq!(choice.to_string(), "0,2,4,6,8,10,12,14");
    assert!(
        chosen("N").starts_with("pinwise may not run on 9") && FORM.contains("N is the last possible CPU")
    );
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic_and_what_it_gives_may_be_used(text in "[!a-z:0-9,&()N-]{0,24}") {
        if let Ok(cpus) = resolve(&text, &machine()) {
            proptest::prop_assert!(cpus.is_subset(&machine().usable()) && !cpus.is_empty());
        }
    }

    #[test]
    fn operations_agree_with_those_of_sets(
        a in proptest::sample::select(vec!["node:0", "l3:1", "smt:0", "0-2", "all"]),
        b in proptest::sample::select(vec!["node:2", "l3:0", "core:1", "5,6", "smt:1"]),
    ) {
        let of = |text: &str| resolve(text, &machine()).unwrap_or_default();
        let (left, right, all) = (of(a), of(b), machine().usable());
        proptest::prop_assert_eq!(of(&format!("{a},{b}")), left.union(&right));
        if !b.contains(',') {
            proptest::prop_assert_eq!(of(&format!("{a} & {b}")), left.intersection(&right));
            proptest::prop_assert_eq!(of(&format!("{a},!{b}")), left.difference(&right));
            proptest::prop_assert_eq!(of(&format!("{a} & !{b}")), left.difference(&right));
            proptest::prop_assert_eq!(of(&format!("!{b}")), all.difference(&right));
        }
    }

    #[test]
    fn what_is_written_is_read_as_the_same(text in "[!a-z:0-9,&() -]{0,24}") {
        if let Ok(choice) = text.parse::<CpuChoice>() {
            let json = serde_json::to_string(&choice).unwrap();
            proptest::prop_assert_eq!(serde_json::from_str::<CpuChoice>(&json).unwrap(), choice.clone());
            proptest::prop_assert_eq!(choice.to_string().parse::<CpuChoice>().unwrap(), choice);
        }
    }
}
