//! The kernel's packet generator, which kernels of guests have as a module.

use serde_json::Value;

use crate::guest;

fn recipe() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/packets-pktgen.toml")
}

/// The mean of an arm's figure in what `pinwise study --format json` printed.
fn mean(study: &Value, arm: &str) -> f64 {
    let arms = study["arms"].as_array().unwrap();
    let named = arms.iter().find(|row| row["arm"] == arm).unwrap_or_else(|| panic!("{arm}: {arms:#?}"));
    named["figure"]["mean"].as_f64().unwrap()
}

/// `make soak`: they take long, and shorter tests cover their parts.
mod soak {
    use super::*;

    #[test]
    #[ignore = "boots guests under QEMU; `make soak` runs it"]
    fn pktgen_is_driven_by_its_recipe_and_left_as_it_was_found() {
        let Some(guest) = guest::like("plain") else { return };
        let guest = guest.module("pktgen").module("dummy").file(recipe());
        let outcome = guest::run(
            &guest,
            "export PINWISE_STATE_DIR=/tmp/state
            study() { pinwise study packets-pktgen.toml --window 0.5 --blocks 1 -o /tmp/case \"$@\"; }
            study > down.said 2>&1 && exit 1
            rm -rf /tmp/case
            ip link set dummy0 up
            # What is asserted needs two of its levels.
            study --format json --key 'factors=[{ kind = \"key\", key = \"load.clone_skb\", values = [0, 100] }]' > study.json
            rm -rf /tmp/case
            ip link add v0 type veth peer name v1
            # Both ends, whatever name busybox has given the other: without a carrier nothing is sent at all.
            for end in v0 v1 veth0 veth1; do [ -e /sys/class/net/$end ] && ip link set $end up || true; done
            study --key load.device='\"v0\"' > veth.said 2>&1 && exit 1
            cat /proc/net/pktgen/kpktgend_* > left
            pinwise status > status",
        );
        let study: Value = serde_json::from_str(&guest::text(&outcome, "study.json")).unwrap();
        // The work that a packet takes: feasibility's 124, 282 and 1,320 thousand a second are ten times apart.
        let (made_anew, sent_again) = (mean(&study, "clone_skb 0"), mean(&study, "clone_skb 100"));
        assert!(sent_again > made_anew, "{made_anew} {sent_again}");
        let said = guest::text(&outcome, "down.said");
        assert!(said.contains("pktgen on CPU") && said.contains("interface"), "{said}");
        let said = guest::text(&outcome, "veth.said");
        assert!(
            said.contains("cannot send one packet many times") && said.contains("clone_skb = 0"),
            "{said}"
        );
        let left = guest::text(&outcome, "left");
        assert!(!left.contains("dummy0") && !left.contains("v0"), "{left}");
        assert_eq!(guest::text(&outcome, "status").trim(), "Nothing is changed on this machine by pinwise.");
    }
}
