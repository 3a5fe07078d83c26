//! A small fleet for tests.

use advise::fleet::{Column, Difference, FeatureId, Fleet, Others, Shape, Variation};

/// Three hosts of one shape: one has other huge pages and a slower card under another name, one a boot parameter, and all have kernels of
/// their own. One name has a line end.
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
    let features =
        [("transparent-huge-pages", "madvise"), ("card-node eth0", "0"), ("card-speed eth0", "25 Gbit/s")];
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
            difference("c", FeatureId::CardSpeed, "ens1", "25 Gbit/s", "10 Gbit/s"),
        ],
        features: features.map(|(name, usual)| (name.to_string(), usual.to_string())).into(),
        varies: vec![Variation {
            feature: FeatureId::Kernel,
            subject: String::new(),
            values: vec![("6.1".into(), vec!["a".into()])],
            others: Some(Others { values: 2, hosts: vec!["c".into()] }),
        }],
        columns: columns(),
    };
    Fleet { shapes: vec![shape] }
}

/// What is not known of a host is in none: the huge pages and the kernel of the second one.
fn columns() -> Vec<Column> {
    let column = |feature: FeatureId, subject: &str, usual: Option<&str>, known: &[(usize, &'static str)]| {
        Column::new(feature, subject, usual.map(String::from), 3, known.iter().copied())
    };
    let speeds = [(0, "25 Gbit/s"), (1, "25 Gbit/s"), (2, "10 Gbit/s")];
    vec![
        column(FeatureId::CardNode, "eth0", Some("0"), &[(0, "0"), (1, "0"), (2, "0")]),
        column(FeatureId::CardSpeed, "eth0", Some("25 Gbit/s"), &speeds)
            .with_names([(2, "ens1".to_string())]),
        column(FeatureId::Kernel, "", None, &[(0, "6.1"), (2, "5.10")]),
        column(FeatureId::TransparentHugePages, "", Some("madvise"), &[(0, "madvise"), (2, "always")]),
    ]
}
