//! The JSON document.

use std::path::Path;

use machine::CpuSet;
use report::case::json::render;
use study::Misplaced;
use study::evidence::ArmStanding;

use crate::{e5, others};

#[test]
fn a_program_finds_the_answer() {
    let facts = e5::facts();
    let json = render(&facts, &e5::findings(&facts), &advise::Explained::of(&facts), Path::new("my case"));
    assert_eq!(json["slow_cpus"], serde_json::json!([5, 13, 14]));
    assert_eq!(json["answer"]["tone"], "slow");
    assert_eq!(json["trust"]["is"], "sound");
    assert_eq!(json["progress"]["trials_run"], 240);
    assert_eq!(json["findings"][0]["standing"], "supported");
    let contrast = &json["contrasts"]["against_other_cpus"][5];
    assert_eq!((contrast["cpu"].as_u64(), contrast["verdict"].as_str()), (Some(5), Some("worse")));
    assert_eq!(json["missing"].as_array().unwrap().len(), 2);
    assert_eq!(json["next"][0]["command"], "pinwise explain 'my case' --prove");
    assert!(json["unpinned"]["mixture"].as_str().unwrap().contains("slow CPUs 5,13-14"));
}

#[test]
fn arms_that_ran_elsewhere_are_listed_whatever_the_load_is() {
    let mut facts = e5::facts();
    let standings = |facts: &study::Facts| {
        render(facts, &[], &advise::Explained::of(facts), Path::new("x"))["standings"].clone()
    };
    assert_eq!(standings(&facts), serde_json::json!({}), "all ran as asked");
    let how = Misplaced::Elsewhere { asked: CpuSet::single(5), ran_on: CpuSet::single(1) };
    facts.evidence.standings.insert("cpu 5".into(), ArmStanding::Misplaced { trials: 3, of: 15, how });
    assert!(facts.evidence.harm.is_none(), "not of a server's own traffic");
    let found = standings(&facts);
    assert_eq!(found["cpu 5"]["is"], "misplaced");
    assert_eq!(found["cpu 5"]["trials"], 3);
}

#[test]
fn every_shape_is_valid_json() {
    for facts in [others::empty(), others::hostile(), others::unobserved()] {
        let text = render(&facts, &[], &advise::Explained::of(&facts), Path::new("x")).to_string();
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    }
}
