use super::messages::Question;
use super::netlink::{attribute, nested, terminated};
use super::*;

/// The bytes of a text of hexadecimal digits.
fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn report(question: Question, message: &[u8]) -> Report {
    let mut report = Report::default();
    question.keep(netlink::answer(message).unwrap(), &mut report);
    report
}

fn channels(counts: &[(ChannelKind, u32)]) -> EthtoolState {
    EthtoolState::Channels { counts: counts.iter().copied().collect() }
}

fn coalescing(figures: &[(Figure, u32)]) -> EthtoolState {
    EthtoolState::Coalescing { figures: figures.iter().copied().collect() }
}

fn to_set(figures: &[(Figure, u32)]) -> EthtoolSetting {
    EthtoolSetting::Coalescing { figures: figures.iter().copied().collect() }
}

#[test]
#[cfg(target_endian = "little")]
fn what_linux_6_18_told_of_a_veth_and_of_a_virtio_card() {
    let veth = bytes(
        "4c00000015000000000000002b190000120100001800018008000100030000000900020070696e3000000000\
         0800020002000000080006000200000008000300020000000800070002000000",
    );
    let veth = report(Question::Channels, &veth);
    assert_eq!(veth.state(Topic::Channels), Some(channels(&[(ChannelKind::Rx, 2), (ChannelKind::Tx, 2)])));
    assert_eq!((veth.most(ChannelKind::Tx), veth.most(ChannelKind::Combined)), (Some(2), None));
    assert_eq!(veth.state(Topic::Coalescing), None);
    let virtio = bytes(
        "540000001500000000000000551900001401000018000180080001000400000009000200657468300000000008000200\
         00000000080003000100000008000600000000000800070001000000\
         05000b0000000000",
    );
    let virtio = report(Question::Coalescing, &virtio).state(Topic::Coalescing).unwrap();
    assert_eq!(virtio.to_string(), "rx-usecs:0 rx-frames:1 tx-usecs:0 tx-frames:1 adaptive-rx:off");
}

/// A message with sets of features as the kernel writes them: what can be changed with and without values, the others
/// as lists of what is set.
fn features(changeable: &[(&str, bool)], wanted: &[&str], active: &[&str], fixed: &[&str]) -> Vec<u8> {
    let set = |to: &mut Vec<u8>, kind: u16, names: Vec<(&str, bool)>| {
        nested(to, kind, |set| {
            attribute(set, 2, &64u32.to_ne_bytes());
            nested(set, 3, |list| {
                for (name, value) in names {
                    nested(list, 1, |bit| {
                        attribute(bit, 1, &7u32.to_ne_bytes());
                        attribute(bit, 2, &terminated(name));
                        if value {
                            attribute(bit, 3, &[]);
                        }
                    });
                }
            });
        });
    };
    let mut body = Vec::new();
    set(&mut body, 2, changeable.to_vec());
    let names = [wanted, active, fixed].map(|names| names.iter().map(|n| (*n, false)).collect::<Vec<_>>());
    for (kind, names) in (3..).zip(names) {
        set(&mut body, kind, names);
    }
    netlink::request(21, 11, &body, false)
}

#[test]
fn a_feature_is_wanted_in_force_and_changeable_each_for_itself() {
    let known = [("rx-gro", true), ("rx-gro-hw", true), ("rx-gro-list", false), ("tx-scatter-gather", true)];
    let message = features(&known, &["rx-gro", "rx-gro-hw"], &["rx-gro"], &["tx-vlan-hw-insert"]);
    let report = report(Question::Features, &message);
    let states = Feature::ALL.map(|feature| report.state(Topic::Feature(feature)).unwrap().to_string());
    assert_eq!(states, ["on", "off although on is wanted", "off"]);
    assert_eq!(Feature::ALL.map(|f| report.is_changeable(f)), [Some(true), Some(true), Some(false)]);
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    // An older kernel does not know them all.
    let older = super::tests::report(Question::Features, &features(&known[..1], &[], &[], &["rx-gro"]));
    assert_eq!(older.is_changeable(Feature::Gro), Some(false));
    assert_eq!(
        (older.is_changeable(Feature::GroList), older.state(Topic::Feature(Feature::GroHw))),
        (None, None)
    );
}

#[test]
fn an_offload_is_on_where_one_of_its_features_is_and_not_known_where_the_kernel_knows_none_of_them() {
    let known = [("tx-tcp-segmentation", true), ("tx-tcp6-segmentation", true), ("tx-checksum-ipv4", false)];
    let message = features(&known, &[], &["tx-tcp6-segmentation"], &[]);
    let report = report(Question::Features, &message);
    let of = |offload| report.offload(offload);
    assert_eq!([Offload::Tso, Offload::TxChecksum, Offload::Lro].map(of), [Some(true), Some(false), None]);
}

#[test]
#[cfg(target_endian = "little")]
fn orders_are_the_bytes_of_the_kernels_headers() {
    let hex = |setting: &EthtoolSetting| -> String {
        // Length, family, flags (request, acknowledge), sequence, port; then command, version.
        let order = order(21, "pin0", setting);
        assert_eq!(order[..4], u32::try_from(order.len()).unwrap().to_ne_bytes());
        assert_eq!(order[4..16], [21, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        order[16..].iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let device = "100001800900020070696e3000000000";
    let counts = BTreeMap::from([(ChannelKind::Tx, 1), (ChannelKind::Combined, 4)]);
    let set = EthtoolSetting::Channels { counts };
    assert_eq!(hex(&set), format!("12010000{device}08000700010000000800090004000000"));
    let set = to_set(&[(Figure::RxUsecs, 8), (Figure::AdaptiveRx, 1)]);
    assert_eq!(hex(&set), format!("14010000{device}080002000800000005000b0001000000"));
    let device = "180001800900020070696e30000000000800030002000000";
    let bit = |on: bool| if on { "0b00020072782d67726f000004000300" } else { "0b00020072782d67726f0000" };
    for (on, lengths) in [(true, ["1c00", "1800", "1400"]), (false, ["1800", "1400", "1000"])] {
        let [wanted, bits, one] = lengths;
        let set = EthtoolSetting::Feature { feature: Feature::Gro, on };
        assert_eq!(hex(&set), format!("0c010000{device}{wanted}0380{bits}0380{one}0180{}", bit(on)));
    }
}

#[test]
fn names_are_those_of_one_figure_each() {
    let figures: Vec<Figure> = Figure::all().collect();
    for (at, figure) in (2..).zip(&figures) {
        assert_eq!((figure.attribute(), Figure::find(figure.name())), (at, Some(*figure)));
        assert_eq!(serde_json::to_value(figure).unwrap(), figure.name());
    }
    let keys: std::collections::BTreeSet<String> = figures.iter().map(|figure| figure.key()).collect();
    assert_eq!(keys.len(), figures.len());
}

#[test]
fn what_a_driver_chooses_by_load_is_neither_compared_nor_put_back() {
    use Figure::{AdaptiveRx, RxUsecs, TxUsecs};
    let old = coalescing(&[(RxUsecs, 50), (TxUsecs, 10), (AdaptiveRx, 1)]);
    let later = coalescing(&[(RxUsecs, 31), (TxUsecs, 10), (AdaptiveRx, 1)]);
    assert!(old.means(&later) && old != later);
    assert!(!old.means(&coalescing(&[(RxUsecs, 50), (TxUsecs, 11), (AdaptiveRx, 1)])));
    let set = to_set(&[(RxUsecs, 8), (AdaptiveRx, 0)]);
    let now = coalescing(&[(RxUsecs, 8), (TxUsecs, 10), (AdaptiveRx, 0)]);
    assert!(set.is_in_force(&now) && !set.is_in_force(&old) && !old.means(&now));
    assert_eq!(set.restoring(&old, &now), Some(to_set(&[(AdaptiveRx, 1)])));
    // The other way round all of it has to be set.
    assert_eq!(set.restoring(&now, &later), Some(to_set(&[(RxUsecs, 8), (AdaptiveRx, 0)])));
    assert_eq!(set.restoring(&channels(&[]), &now), None);
}

#[test]
fn what_is_wanted_comes_back_also_where_it_was_not_in_force() {
    let set = EthtoolSetting::Feature { feature: Feature::GroHw, on: false };
    let old = EthtoolState::Feature { wanted: true, active: false };
    let now = EthtoolState::Feature { wanted: false, active: false };
    assert!(set.is_in_force(&now) && set.is_in_force(&old) && !old.means(&now));
    assert_eq!(
        set.restoring(&old, &now),
        Some(EthtoolSetting::Feature { feature: Feature::GroHw, on: true })
    );
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(0..=255u8, 0..200)) {
        for question in Question::ALL {
            question.keep(&bytes, &mut Report::default());
        }
    }

    #[test]
    fn an_answer_that_is_cut_or_altered_anywhere_is_survived(at in 0..400usize, byte in 0..=255u8) {
        let mut message = features(&[("rx-gro", true), ("rx-gro-hw", false)], &["rx-gro"], &["rx-gro"], &[]);
        let at = at % message.len();
        let cut = message[..at].to_vec();
        message[at] = byte;
        for bytes in [cut, message] {
            if let Ok(reply) = netlink::answer(&bytes) {
                Question::Features.keep(reply, &mut Report::default());
            }
        }
    }
}
