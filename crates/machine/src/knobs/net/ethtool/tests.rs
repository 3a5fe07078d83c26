use super::*;
use crate::Tree;
use crate::ethtool::{ChannelKind, EthtoolSetting, Feature, Figure};
use crate::knobs::find;

const TOLD: &str = r#"{
    "channels": {"combined": 2, "combined_max": 8, "other": 1, "other_max": 1},
    "coalesce": {"rx_usecs": 50, "rx_max_frames": 0, "adaptive_rx": 1},
    "features": {"rx-gro": 1, "rx-gro-hw": 0},
    "features_wanted": {"rx-gro": 1, "rx-gro-hw": 0},
    "features_changeable": {"rx-gro": 1, "rx-gro-hw": 0}
}"#;

fn root() -> Root {
    let tree = Tree::new()
        .dir("/sys/class/net/eth0")
        .dir("/sys/class/net/old0")
        .file("/sys/class/net/bonding_masters", "\n");
    Root::from_tree(tree).with_fact("ethtool eth0", TOLD).with_fact("ethtool old0", r#"{"coalesce": {}}"#)
}

fn asked(knob: &str, value: &str) -> Result<EthtoolSetting, Fault> {
    let acts = find(knob).unwrap().change(&root(), "eth0", value)?;
    let [Act::SetEthtool { device, netns: None, setting }] = &acts[..] else { panic!("{acts:?}") };
    assert_eq!(device, "eth0");
    Ok(setting.clone())
}

#[test]
fn what_reads_can_be_set() {
    let values = [
        ("channels", "other:1 combined:2"),
        ("coalescing", "rx-usecs:50 rx-frames:0 adaptive-rx:on"),
        ("gro", "on"),
    ];
    for (id, value) in values {
        let knob = find(id).unwrap();
        assert_eq!(knob.read(&root(), "eth0").unwrap(), value);
        assert_eq!(asked(id, value).unwrap().to_string(), value);
        let targets = knob.targets(&root()).unwrap();
        assert_eq!(targets.iter().map(|target| target.id.as_str()).collect::<Vec<_>>(), ["eth0"], "{id}");
    }
    assert_eq!(find("gro-hw").unwrap().targets(&root()).unwrap(), []);
}

#[test]
fn only_what_is_named_is_set() {
    let counts = [(ChannelKind::Combined, 8)].into();
    assert_eq!(asked("channels", "combined:8").unwrap(), EthtoolSetting::Channels { counts });
    let figures = [(Figure::RxUsecs, 8), (Figure::AdaptiveRx, 0)].into();
    let setting = EthtoolSetting::Coalescing { figures };
    assert_eq!(asked("coalescing", " adaptive-rx:off  rx-usecs:8 ").unwrap(), setting);
    let setting = EthtoolSetting::Feature { feature: Feature::Gro, on: false };
    assert_eq!(asked("gro", "off").unwrap(), setting);
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    let refused = [
        ("channels", "combined:9", "more than the card has", "0 to 8"),
        ("channels", "rx:1", "no rx", "other:1 combined:2"),
        ("channels", "combined:0", "no channel would be left", "combined"),
        ("channels", "combined:1 combined:2", "twice", "KIND:NUMBER"),
        ("channels", "combined", "no colon", "KIND:NUMBER"),
        ("channels", "both:2", "not a kind", "KIND:NUMBER"),
        ("channels", "", "empty", "KIND:NUMBER"),
        ("coalescing", "rx-usecs:-1", "not a number", "FIGURE:NUMBER"),
        ("coalescing", "adaptive-rx:2", "neither on nor off", "FIGURE:NUMBER"),
        ("coalescing", "tx-usecs:1", "no tx-usecs", "rx-usecs:50"),
        ("coalescing", "rx-max-usecs:1", "not a figure", "ethtool -C"),
        ("gro", "1", "neither on nor off", "on or off"),
        ("gro-hw", "on", "fixed off", "leave it"),
        ("gro-list", "on", "does not report it (feature rx-gro-list)", "leave it"),
    ];
    for (knob, value, cause, remedy) in refused {
        let fault = asked(knob, value).unwrap_err();
        assert!(fault.cause.contains(cause) && fault.remedy.contains(remedy), "{value}: {fault}");
        assert!(fault.object.contains(knob) && fault.object.contains("eth0"), "{fault}");
    }
    let knob = find("channels").unwrap();
    for target in ["none0", "../eth0", "bonding_masters", "old0", "vs:eth0"] {
        assert!(knob.read(&root(), target).is_err(), "{target}");
    }
}
