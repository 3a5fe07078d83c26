use machine::topology::cpus::Cpu;
use machine::topology::nodes::Node;

use super::*;

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

/// Even CPUs on node 0, odd ones on node 1; CPU n and n + 4 are of one core.
pub(crate) fn two_nodes_of_two_cores_of_two_threads() -> Machine {
    let cpu = |id: u32| Cpu {
        id,
        online: true,
        node: Some(id % 2),
        siblings: Some(set(&format!("{},{}", id % 4, id % 4 + 4))),
        ..Cpu::default()
    };
    let node = |id, cpus: &str| Node { id, cpus: set(cpus), memory_bytes: Some(1 << 30), ..Node::default() };
    Machine {
        cpus: (0..8).map(cpu).collect(),
        nodes: vec![node(0, "0,2,4,6"), node(1, "1,3,5,7")],
        packages: vec![set("0,2,4,6"), set("1,3,5,7")],
        ..Machine::default()
    }
}

fn levels(recipe: &str) -> Result<Vec<Level>, Fault> {
    let factor: Factor = toml::from_str(recipe).unwrap();
    factor.levels(&two_nodes_of_two_cores_of_two_threads(), None)
}

fn servers(recipe: &str) -> Vec<(String, String)> {
    let levels = levels(recipe).unwrap();
    levels.into_iter().map(|l| (l.name, l.server.map(|cpus| cpus.to_list()).unwrap_or_default())).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

#[test]
fn every_choice_of_nodes_small_ones_first() {
    assert_eq!(
        servers("kind = \"nodes\""),
        pairs(&[("nodes 0", "0,2,4,6"), ("nodes 1", "1,3,5,7"), ("nodes 0-1", "0-7")])
    );
    assert_eq!(servers("kind = \"nodes\"\nsizes = [2]").len(), 1);
}

#[test]
fn a_server_grows_in_the_order_that_is_asked() {
    let text = "kind = \"cores\"\ncounts = [1, 3]\nfill = [\"cores-first\", \"siblings-first\"]";
    assert_eq!(
        servers(text),
        pairs(&[
            ("1 CPU, cores first", "0"),
            ("3 CPUs, cores first", "0-2"),
            ("1 CPU, siblings first", "0"),
            ("3 CPUs, siblings first", "0,2,4"),
        ])
    );
    let machine = two_nodes_of_two_cores_of_two_threads();
    let factor: Factor = toml::from_str("kind = \"cores\"").unwrap();
    let counts = |load: Option<&str>| -> Vec<usize> {
        let load = load.map(set);
        let levels = factor.levels(&machine, load.as_ref()).unwrap();
        levels.iter().map(|level| level.scale.unwrap().1).collect()
    };
    assert_eq!(counts(None), [1, 2, 3, 4, 6, 8]);
    assert_eq!(counts(Some("6-7")), [1, 2, 3, 4, 6]);
    assert_eq!(counts(Some("0-7")), [1, 2, 3, 4, 6, 8], "a load that is anywhere leaves all of them");
}

#[test]
fn places_are_pairs_with_all_that_goes_with_them() {
    let text = "kind = \"places\"\nlevels = [\
                { name = \"split\", server = \"node:0\", load = \"node:1\" },\
                { server = \"0\", memory = \"bind:0\", keys = { \"load.connections\" = 4 } }]";
    let levels = levels(text).unwrap();
    assert_eq!((levels[0].name.as_str(), levels[0].load.clone()), ("split", Some(set("1,3,5,7"))));
    assert_eq!(levels[1].name, "server 0, memory bind:0, connections 4");
    assert_eq!(levels[1].keys["load.connections"], toml::Value::Integer(4));
}

#[test]
fn knobs_and_keys_have_a_level_a_value() {
    let text = "kind = \"knob\"\nknob = \"rps-cpus\"\ntarget = \"eth0/rx-0\"\nvalues = [\"0\", \"3\"]";
    let names: Vec<String> = servers(text).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["rps-cpus of eth0/rx-0 0", "rps-cpus of eth0/rx-0 3"]);
    let levels = levels("kind = \"key\"\nkey = \"variables.threads\"\nvalues = [1, \"all\"]").unwrap();
    assert_eq!(levels.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["threads 1", "threads all"]);
}

#[test]
fn what_this_machine_cannot_have_is_named() {
    for (text, why) in [
        ("kind = \"each-cpu\"\ncpus = \"0,9\"", "may not run on 9"),
        ("kind = \"each-cpu\"\ncpus = \"l3:0\"", "no l3"),
        ("kind = \"cores\"\ncounts = [9]", "1 to 8 here"),
        ("kind = \"places\"\nlevels = []", "no level"),
        ("kind = \"places\"\nlevels = [{ server = \"0\" }, { server = \"0\" }]", "two levels"),
        ("kind = \"memory\"\npolicies = [\"bind:7\"]", "7"),
        ("kind = \"places\"\nlevels = [{ server = \"node:7\" }]", "no node 7"),
    ] {
        let fault = levels(text).unwrap_err();
        assert!(fault.to_string().contains(why), "{text}: {fault}");
    }
}
