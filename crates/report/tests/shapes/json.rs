//! The JSON document.

use std::path::Path;

use report::case::json::render;

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
fn every_shape_is_valid_json() {
    for facts in [others::empty(), others::hostile(), others::unobserved()] {
        let text = render(&facts, &[], &advise::Explained::of(&facts), Path::new("x")).to_string();
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    }
}
