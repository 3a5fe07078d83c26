//! The captures of guests that are kept in fixtures/machines have the shape of their guests. No guest is booted.

use std::path::Path;

use machine::{CpuSet, Machine, Root};
use rehearse::Shape;

use crate::same_shape::assert_same;

fn kept(name: &str) -> Machine {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines");
    Machine::read(&Root::at(&machines.join(name).join("capture.tar.zst")).unwrap())
}

#[test]
fn each_has_the_shape_of_its_name() {
    for name in ["artemis", "leviathan", "two-node-smt", "memory-only-node", "sparse", "deep-idle"] {
        assert_same(name, &kept(name), &Shape::find(name).unwrap());
    }
}

#[test]
fn isolation_is_reported_by_the_kernel_that_was_booted_with_it() {
    let machine = kept("artemis-isolated");
    assert_same("artemis-isolated", &machine, &Shape::find("artemis").unwrap());
    let asked = CpuSet::from_list("1-23").unwrap();
    assert_eq!((&machine.kernel.isolated, &machine.kernel.nohz_full), (&Some(asked.clone()), &Some(asked)));
}
