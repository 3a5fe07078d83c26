//! A small fleet for tests.

use advise::fleet::{Difference, FeatureId, Fleet, Shape, Variation};

/// Three hosts of one shape: one has other huge pages, one a boot parameter, and all have kernels of their own. One name has a line end.
pub(super) fn fleet() -> Fleet {
    let difference = |host: &str, feature: FeatureId, subject: &str, usual: &str, here: &str| Difference {
        host: host.into(),
        feature,
        subject: subject.into(),
        usual: usual.into(),
        here: here.into(),
        shared_by: 2,
        weight: 4.0,
        why: "It matters.",
    };
    let features = [("transparent-huge-pages", "madvise"), ("card-node eth0", "0")];
    let values =
        vec![("6.1".to_string(), vec!["a".to_string()]), ("2 other values".into(), vec!["c".into()])];
    let shape = Shape {
        id: "0badcafe".into(),
        title: "1 package, 4 cores".into(),
        hosts: ["a", "b\n", "c"].map(String::from).to_vec(),
        differences: vec![
            Difference {
                weight: 6.0,
                ..difference("a", FeatureId::BootParameter, "nosmt", "not given", "given")
            },
            difference("c", FeatureId::TransparentHugePages, "", "madvise", "always"),
        ],
        features: features.map(|(name, usual)| (name.to_string(), usual.to_string())).into(),
        varies: vec![Variation { feature: FeatureId::Kernel, subject: String::new(), values }],
    };
    Fleet { shapes: vec![shape] }
}
