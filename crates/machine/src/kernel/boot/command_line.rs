//! The words of the boot command line.

/// Splits as the kernel does (lib/cmdline.c, next_arg): at blanks outside of double quotes; `--` ends its part.
pub fn words(cmdline: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in cmdline.chars().chain([' ']) {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                if word == "--" {
                    return words;
                }
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    // A quote that is never closed takes all that follows, as in the kernel.
    words.extend((!word.trim().is_empty()).then(|| word.trim_end().to_string()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_the_kernel_splits_them() {
        assert_eq!(words("a=1  \"b=2 3\" c=\"4 5\" -- init"), ["a=1", "b=2 3", "c=4 5"]);
        assert_eq!(words("x=\"open end"), ["x=open end"]);
        assert_eq!(words(" \t"), Vec::<String>::new());
    }
}
