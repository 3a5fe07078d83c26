//! What a page may load and run, whatever a name in it says: nothing from elsewhere, and of what stands in it the texts of this crate
//! alone.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The content security policy of a page with these style sheets, and with this script if it has one.
pub(super) fn of(styles: &[&str], script: Option<&str>) -> String {
    let styles: Vec<String> = styles.iter().map(|text| source(text)).collect();
    let script = script.map(|text| format!("; script-src {}", source(text))).unwrap_or_default();
    format!("default-src 'none'; style-src {}{script}; img-src data:", styles.join(" "))
}

/// A text that may stand in the page, by its hash.
fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_allowed_by_its_hash_and_without_a_script_none_runs() {
        // SHA-256 of "abc": FIPS 180-2.
        let abc = "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='";
        assert_eq!(of(&["abc"], None), format!("default-src 'none'; style-src {abc}; img-src data:"));
        let both = format!("default-src 'none'; style-src {abc} {abc}; script-src {abc}; img-src data:");
        assert_eq!(of(&["abc", "abc"], Some("abc")), both);
    }
}
