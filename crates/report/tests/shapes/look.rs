//! Writes reports of the shapes to the folder that `REPORT_LOOK` names, to be looked at in a browser and a terminal:
//! `REPORT_LOOK=/tmp/look cargo test -p pinwise-report --test shapes -- --ignored`.

use std::path::Path;

use report::CaseView;
use report::case::html;
use report::case::table::{Style, render};

use crate::{e5, observed, others, scaling, wide};

#[test]
#[ignore = "writes files for people to look at"]
fn write_reports() {
    let Some(dir) = std::env::var_os("REPORT_LOOK") else {
        eprintln!("skipped: REPORT_LOOK names no folder");
        return;
    };
    let dir = Path::new(&dir);
    std::fs::create_dir_all(dir).unwrap();
    let shapes = [
        ("e5", e5::facts()),
        ("two", others::two_cpus()),
        ("many", others::many(256)),
        ("64", wide::facts(64, 15)),
        ("1024", wide::facts(1024, 3)),
        ("one", others::many(1)),
        ("empty", others::empty()),
        ("hostile", others::hostile()),
        ("explained", observed::observed(others::two_cpus(), 6, "hog")),
        ("explained-hostile", observed::observed(others::hostile(), 6, others::HOSTILE)),
        ("unobserved", others::unobserved()),
        ("scaling", scaling::facts("[1, 2, 4, 6, 9, 12, 18, 24]")),
        ("lawless", scaling::facts("[1, 6, 24]")),
    ];
    for (name, facts) in &shapes {
        let findings = if *name == "e5" { e5::findings(facts) } else { advise::examine(facts) };
        let explained = advise::Explained::of(facts);
        let view: CaseView = e5::view(facts, &findings, &explained);
        std::fs::write(dir.join(format!("{name}.html")), html::render(&view)).unwrap();
        for width in [80, 120] {
            let text =
                render(facts, &findings, std::path::Path::new("my case"), Style { colour: false, width });
            std::fs::write(dir.join(format!("{name}-{width}.txt")), text).unwrap();
        }
    }
}
