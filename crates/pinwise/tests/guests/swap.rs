//! A guest that needs more memory than it has.

use rehearse::Guest;

use crate::guest;

/// `pswpout` of /proc/vmstat.
const SWAPPED_OUT: &str = "awk '/^pswpout/ {print $2}' /proc/vmstat";

#[test]
#[ignore = "boots guests under QEMU; .ci/run runs it"]
fn swap_is_reported_with_how_much_is_used() {
    let Some(_) = guest::like("plain") else { return };
    let small = rehearse::Shape::find("plain").unwrap().with_memory_mb(256);
    let guest = Guest::of(small).program_as("pinwise", env!("CARGO_BIN_EXE_pinwise"));
    let outcome = guest::run(
        &guest,
        &format!(
            "pinwise map --format json > without.json
            mkswap /dev/vda; swapon /dev/vda
            pinwise map --format json > unused.json
            {SWAPPED_OUT} > before
            mount -t tmpfs -o size=400m tmpfs /mnt
            dd if=/dev/urandom of=/mnt/touched bs=1M count=320
            {SWAPPED_OUT} > after
            pinwise map --format json > used.json
            pinwise map > sheet"
        ),
    );
    let [without, unused, used] = ["without.json", "unused.json", "used.json"].map(|name| {
        let memory = guest::machine(&outcome, name).memory;
        (memory.swap_total_bytes.unwrap(), memory.swap_free_bytes.unwrap())
    });
    assert_eq!(without, (0, 0));
    // mkswap keeps a page of the disk for itself.
    assert_eq!(unused.0, (1024 << 20) - 4096);
    assert_eq!(used.0, unused.0);
    // 320 MB do not fit into 256; some of the rest was swapped before the disk was full of it.
    let swapped = used.0 - used.1;
    assert!(swapped > 64 << 20, "{swapped} bytes of swap are used");
    let counts = ["before", "after"].map(|name| guest::text(&outcome, name).trim().parse::<u64>().unwrap());
    assert!((counts[1] - counts[0]) * 4096 >= swapped / 2, "pages swapped out: {counts:?}");
    assert!(guest::text(&outcome, "sheet").contains("swap"), "{}", guest::text(&outcome, "sheet"));
}
