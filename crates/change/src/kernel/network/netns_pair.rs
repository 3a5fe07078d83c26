//! Pairs of joined network namespaces, made and removed by ip(8), which knows how named namespaces are kept.

use std::io;

use machine::NetnsPair;

use crate::kernel::program;

/// Makes both. What was made before an error is removed again.
///
/// # Errors
/// `Unsupported` when ip is not installed; what ip reports, and what could not be removed again.
pub fn make(pair: &NetnsPair) -> io::Result<()> {
    for (done, words) in pair.orders().iter().enumerate() {
        let Err(error) = ip(words) else { continue };
        // The first orders make one namespace each.
        let stays = pair.names.iter().take(done).filter_map(|name| Some((name, remove(name).err()?)));
        return Err(
            match stays
                .map(|(name, why)| format!("{name} cannot be removed: {why}"))
                .reduce(|a, b| a + "; " + &b)
            {
                Some(stays) => io::Error::other(format!("{error}; and {stays} (ip netns del)")),
                None => error,
            },
        );
    }
    Ok(())
}

/// Removes the name of a namespace.
///
/// # Errors
/// As [`make`].
pub fn remove(name: &str) -> io::Result<()> {
    ip(&NetnsPair::removal(name))
}

fn ip(words: &[String]) -> io::Result<()> {
    // Its messages are matched.
    let output = program::command("ip").args(words).env("LC_ALL", "C").output();
    let output = output.map_err(|error| match error.kind() {
        // Not NotFound, which would mean that the namespaces have gone.
        io::ErrorKind::NotFound => io::Error::new(io::ErrorKind::Unsupported, "ip is not installed"),
        _ => io::Error::other(format!("ip could not be started: {error}")),
    })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failure(words, &String::from_utf8_lossy(&output.stderr))),
    }
}

/// The error that ip reports, as an errno where the message stands for one.
fn failure(words: &[String], said: &str) -> io::Error {
    let why = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    let known = [
        ("File exists", libc::EEXIST),
        ("Operation not permitted", libc::EPERM),
        ("Permission denied", libc::EPERM),
    ];
    match known.into_iter().find(|(words, _)| why.contains(words)) {
        Some((_, errno)) => io::Error::from_raw_os_error(errno),
        None => io::Error::other(format!("ip {}: {why}", words.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ip_says_is_an_error_with_its_cause() {
        let order = NetnsPair::removal("x");
        let denied = failure(&order, "mount --make-shared /run/netns failed: Operation not permitted\n");
        assert_eq!(denied.raw_os_error(), Some(libc::EPERM));
        let there = failure(&order, "Cannot create namespace file \"/run/netns/x\": File exists\n");
        assert_eq!(there.kind(), io::ErrorKind::AlreadyExists);
        let other = failure(&order, "\nError: Unknown device type.\n").to_string();
        assert_eq!(other, "ip netns del x: Error: Unknown device type.");
    }
}
