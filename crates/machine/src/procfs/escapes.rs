//! Texts in which bytes stand as a backslash and three characters: mountinfo (`\\040`), names of units (`\\x2d`).

/// Undoes the escapes for which `byte` returns a byte for the three characters behind the backslash. What is no escape
/// stays; what is no UTF-8 afterwards becomes U+FFFD.
pub(crate) fn unescape(text: &str, byte: impl Fn(&str) -> Option<u8>) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..3).filter(|_| *first == b'\\').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(&byte) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
