//! Whether the kernel is locked down so far that programs may not read its memory.

use std::error::Error;

use aya::programs::ProgramError;

/// The kernel's word about it. Source: security/lockdown/lockdown.c. Needs securityfs, which containers and small systems have not.
pub(super) const FILE: &str = "/sys/kernel/security/lockdown";

/// Why no program was loaded, and what can be done.
pub(super) const WHY: &str = "the kernel is locked down (confidentiality: boot parameter lockdown, or a distribution's rule for Secure \
    Boot), and then nobody's programs may read its memory. Booted with lockdown=integrity, or with none, they may";

/// Whether the kernel reports so: the text of [`FILE`], where it can be read.
pub(super) fn is_told(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.contains("[confidentiality]"))
}

/// Whether that is why a program was refused, by what its verifier said: the helpers that read memory are not there
/// (kernel/trace/bpf_trace.c, LOCKDOWN_BPF_READ_KERNEL; since 5.13, before it they answer with zeros).
pub(super) fn is_why(error: &(dyn Error + 'static)) -> bool {
    verifier_log(error).is_some_and(|log| lacks_readers(&log))
}

fn lacks_readers(log: &str) -> bool {
    ["unknown func bpf_probe_read", "cannot use helper bpf_probe_read"]
        .iter()
        .any(|words| log.contains(words))
}

/// What the verifier said, where it said anything.
pub(super) fn verifier_log(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(ProgramError::LoadError { verifier_log, .. }) = error.downcast_ref() {
            return Some(verifier_log.to_string()).filter(|log| !log.trim().is_empty());
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_in_brackets_what_is_so() {
        assert!(is_told(Some("none integrity [confidentiality]\n")));
        assert!(!is_told(Some("none [integrity] confidentiality\n")));
        assert!(!is_told(Some("[none] integrity confidentiality\n")) && !is_told(None));
        assert!(!is_why(&std::io::Error::other("no memory")));
    }

    #[test]
    fn the_verifier_says_so_in_words_that_depend_on_the_kernel() {
        // 6.1 with lockdown=confidentiality, and the words of later ones (kernel/bpf/verifier.c, check_helper_call).
        assert!(lacks_readers(
            "9: (85) call bpf_probe_read#4\nunknown func bpf_probe_read#4\nprocessed 10 insns"
        ));
        assert!(lacks_readers("program of this type cannot use helper bpf_probe_read_kernel#113"));
        assert!(!lacks_readers("R3 invalid mem access 'scalar'"));
    }
}
