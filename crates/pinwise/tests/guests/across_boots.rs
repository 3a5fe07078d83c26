//! A study across boots, each of them a guest: the test plays the boot loader, and the disk between two boots.

use std::path::Path;

use machine::kernel::boot;
use rehearse::Outcome;
use serde_json::Value;

use super::guest;

/// Two choices of words in two blocks: six boots, and the one in which it begins.
const RECIPE: &str = "seed = 3\nwork_us = 20.0\n\
    [budget]\nblocks = 2\nwindow_s = 0.2\nwarm_up_cap_s = 0.0\nattempts = 1\n\
    [[factors]]\nkind = \"boot\"\nlevels = [{ name = \"as it is\", words = \"\" }, { name = \"no threads\", words = \"nosmt\" }]\n";

/// What is on the disk of the machine: the files that update-grub reads and what it makes of them, the ledger, the case.
const MACHINE: &str = r#"
cd disk; mkdir -p grub.d state /etc/default /usr/sbin
ln -s $PWD/grub.d /etc/default/grub.d
cat > /usr/sbin/update-grub << EOF
#!/bin/sh
GRUB_CMDLINE_LINUX_DEFAULT=
for file in $PWD/grub.d/*.cfg; do [ -e \$file ] && . \$file; done
echo \$GRUB_CMDLINE_LINUX_DEFAULT > $PWD/cmdline
EOF
chmod +x /usr/sbin/update-grub
export PINWISE_STATE_DIR=$PWD/state
set +e
pinwise VERB --format json > said.json 2> said.txt
echo $? > code
set -e
pinwise status --format json > status.json
"#;

fn text(disk: &Path, name: &str) -> String {
    std::fs::read_to_string(disk.join(name)).unwrap_or_default()
}

/// One boot of the machine with what is on its disk; gives the exit code.
fn boot(disk: &Path, words: &str, verb: &str) -> Option<i32> {
    let guest = guest::like("small")?.cmdline(words).file(disk);
    let outcome: Outcome = guest::run(&guest, &MACHINE.replace("VERB", verb));
    std::fs::remove_dir_all(disk).unwrap();
    outcome.bring_back(disk.parent().unwrap()).unwrap();
    Some(text(disk, "code").trim().parse().unwrap_or_else(|why| panic!("{why}: {}", text(disk, "said.txt"))))
}

/// Each trial ran under the words of its arm, in a boot of its own group, of which there are three a block.
fn ran_as_planned(disk: &Path) {
    let trials: Vec<Value> =
        text(disk, "case/trials.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(trials.len(), 10);
    let mut groups = std::collections::BTreeMap::new();
    for trial in &trials {
        let cmdline = boot::words(trial["boot"]["cmdline"].as_str().unwrap());
        let wanted = trial["arm"] == "no threads";
        assert_eq!(cmdline.contains(&"nosmt".to_string()), wanted, "{trial:#}");
        let group = match trial["arm"].as_str().unwrap() {
            "unpinned A" | "as it is" | "dose on unpinned" => "A",
            other => other,
        };
        let group = (trial["block"].as_u64().unwrap(), group.to_string());
        let id = trial["boot"]["id"].as_str().unwrap().to_string();
        assert_eq!(groups.entry(id).or_insert(group.clone()), &group, "{trial:#}");
    }
    assert_eq!(groups.len(), 6);
}

/// `make soak`: they take long, and shorter tests cover their parts.
mod soak {
    use super::*;

    #[test]
    #[ignore = "boots guests under QEMU; `make soak` runs it"]
    fn a_study_goes_on_from_boot_to_boot_and_leaves_no_word() {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("disk");
        std::fs::create_dir(&disk).unwrap();
        std::fs::write(disk.join("recipe.toml"), RECIPE).unwrap();
        let Some(code) = boot(&disk, "", "study recipe.toml -o case") else { return };
        let said = text(&disk, "said.txt");
        assert_eq!(code, 7, "{said}");
        assert!(said.contains("takes 6 boots") && said.contains("0 of 6 boots are done"), "{said}");
        let (mut boots, mut has_disobeyed) = (0, false);
        loop {
            boots += 1;
            let words = text(&disk, "cmdline");
            if !words.trim().is_empty() && !has_disobeyed {
                has_disobeyed = true;
                let code = boot(&disk, "", "resume case").unwrap();
                let said = text(&disk, "said.txt");
                assert!(code == 4 && said.contains("was rebooted without 'nosmt'"), "{code}: {said}");
                assert_eq!(text(&disk, "cmdline"), words, "nothing is changed");
            }
            let code = boot(&disk, words.trim(), "resume case").unwrap();
            let said = text(&disk, "said.txt");
            match code {
                7 => assert!(said.contains(&format!("{boots} of 6 boots are done")), "{said}"),
                0 => break,
                code => panic!("{code}: {said}"),
            }
        }
        assert_eq!(boots, 6, "{}", text(&disk, "said.txt"));
        ran_as_planned(&disk);
        // Nothing is left: no word on the lines, no file, no act.
        assert_eq!(
            (text(&disk, "cmdline").trim(), std::fs::read_dir(disk.join("grub.d")).unwrap().count()),
            ("", 0)
        );
        let status: Value = serde_json::from_str(&text(&disk, "status.json")).unwrap();
        assert_eq!(status["sessions"].as_array().map(Vec::len), Some(0), "{status:#}");
    }
}
