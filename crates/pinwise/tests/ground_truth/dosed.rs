//! A dose of known size in real studies: what was taken, and what was lost by it.

use serde_json::Value;

use crate::pinwise::Bench;

/// Server on CPU 0 and load on CPU 1, and a dose there.
const RECIPE: &str = "[baseline]\nserver = '0'\nload = '1'\n\
                      [[factors]]\nkind = 'places'\nlevels = [{ name = 'swapped', server = '1', load = '0' }]\n\
                      [budget]\nblocks = 10\nwindow_s = 0.4\nwarm_up_cap_s = 0.1\n";

/// One study; its control.
fn control(share: f64) -> Value {
    let bench = Bench::new();
    let recipe = bench.case().with_file_name("recipe.toml");
    std::fs::write(&recipe, RECIPE).unwrap();
    let (recipe, case) = (recipe.display().to_string(), bench.case().display().to_string());
    let dose = format!("dose.share={share}");
    let arguments = ["study", &recipe, "--key", &dose, "--anyway", "--format", "json", "-o", &case];
    bench.json(&arguments)["contrasts"]["control"].clone()
}

mod soak {
    use super::control;

    /// Five studies of each size. Nothing here may help; the losses are for docs/statistics.md.
    #[test]
    #[ignore = "soak: twenty studies, some 10 minutes; run by `make soak`"]
    fn what_is_lost_is_what_is_taken() {
        let mut held = 0;
        for share in [0.05, 0.1, 0.2, 0.5] {
            for _ in 0..5 {
                let control = control(share);
                let taken = control["kind"]["taken_share"].as_f64().unwrap();
                let bound = |at: usize| 1.0 - control["interval"][at].as_f64().unwrap();
                let (low, high) = (bound(1), bound(0));
                let loss = 1.0 - control["ratio"].as_f64().unwrap();
                println!(
                    "| {:.0} % | {:.1} % | {:.1} % [{:.1}, {:.1}] | {:.2} | {} |",
                    share * 1e2,
                    taken * 1e2,
                    loss * 1e2,
                    low * 1e2,
                    high * 1e2,
                    loss / taken,
                    control["outcome"]["outcome"].as_str().unwrap()
                );
                assert_ne!(control["outcome"]["outcome"], "helped", "{control:#}");
                held += usize::from(low <= taken && taken <= high);
            }
        }
        println!("the interval of the loss holds what was taken in {held} of 20 studies");
    }
}
