//! The file of an observed trial: JSON, compressed by zstd. Its rows have the same keys again and again, so that it takes a sixth of the space
//! and nothing has to be left out. `zstd -dc` unpacks it.

use std::io::{self, Read as _};

use super::Observed;

/// Its name in the folder of the trial.
pub const PACKED: &str = "account.json.zst";
/// The same in cases of before 2026-11-28, which is not compressed.
pub const PLAIN: &str = "account.json";

/// Somewhat more work for somewhat less space; a trial waits for it for a millisecond.
const LEVEL: i32 = 9;

/// The longest that is unpacked: a server with thousands of threads has some MB, and a few bytes from elsewhere could unpack to any length.
const MOST_BYTES: u64 = 256 << 20;

/// What is written.
///
/// # Errors
/// It cannot be put into JSON, or not be compressed.
pub fn packed(observed: &Observed) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(observed)?;
    zstd::encode_all(json.as_slice(), LEVEL)
}

/// The JSON in what was read.
///
/// # Errors
/// It is damaged or cut off, or unpacks to more than any account has.
pub fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
    unpacked_up_to(packed, MOST_BYTES)
}

fn unpacked_up_to(packed: &[u8], most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut json = Vec::new();
    zstd::Decoder::new(packed)?.take(most_bytes.saturating_add(1)).read_to_end(&mut json)?;
    if json.len() as u64 > most_bytes {
        let why = format!("it unpacks to more than {most_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(json)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use machine::Machine;
    use probe::Situation;
    use proptest::prelude::*;

    use super::*;

    /// The windows of this scenario that were kept, as observed trials have them: without the machine, which is that of the case.
    fn recorded(scenario: &str) -> Observed {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let kept = std::fs::read(scenarios.join(scenario).join("situation.json.zst")).unwrap();
        let situation: Situation = serde_json::from_slice(&unpacked(&kept).unwrap()).unwrap();
        Observed {
            requests: Some(16_814.155942556485),
            situation: Situation { machine: Machine::default(), ..situation },
        }
    }

    #[test]
    fn all_of_it_is_read_again_from_a_few_kilobytes() {
        for (scenario, most_kb) in [("one-full-cpu", 10), ("hog-on-server", 10), ("threads-64", 25)] {
            let observed = recorded(scenario);
            let bytes = packed(&observed).unwrap();
            assert!(bytes.len() <= most_kb * 1_000, "{scenario}: {} bytes", bytes.len());
            let again: Observed = serde_json::from_slice(&unpacked(&bytes).unwrap()).unwrap();
            assert_eq!(again, observed, "{scenario}");
        }
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_no_account() {
        let whole = packed(&Observed::default()).unwrap();
        assert!(unpacked(&whole[..whole.len() - 5]).is_err());
        assert!(unpacked(b"{\"requests\":null}").is_err(), "not compressed");
    }

    #[test]
    fn what_unpacks_to_any_length_is_refused() {
        let bomb = zstd::encode_all(vec![b' '; 100_000].as_slice(), LEVEL).unwrap();
        assert!(bomb.len() < 1_000);
        assert_eq!(unpacked_up_to(&bomb, 50_000).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(unpacked_up_to(&bomb, 100_000).unwrap().len(), 100_000);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = unpacked_up_to(&bytes, 10_000);
        }
    }
}
