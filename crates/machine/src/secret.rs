//! Names of secrets, and what is shown in the place of their values.

/// Stands in the place of a value that is not shown.
pub const CONCEALED: &str = "(secret)";

/// What the name of a secret contains, in upper or lower case.
const WORDS: [&str; 8] =
    ["password", "passwd", "passphrase", "secret", "token", "credential", "apikey", "api_key"];

/// Whether the value of an option, a variable or a parameter of this name is a secret.
pub fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_its_name() {
        for name in ["password", "PGPASSWORD", "db_passwd", "API_KEY", "client-secret", "AUTH_TOKEN_2"] {
            assert!(is_named(name), "{name}");
        }
        for name in ["user", "passes", "bind_dn", "key", "PATH", ""] {
            assert!(!is_named(name), "{name}");
        }
    }
}
