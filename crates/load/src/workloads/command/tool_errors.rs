//! What load tools print when the server answered with errors, which they count among their requests. Pure.

/// Lines of tools that say so, by their start. wrk and wrk2 print the first, ab the second (only where there are some).
const LINES: [&str; 2] = ["Non-2xx or 3xx responses:", "Non-2xx responses:"];

/// The line of a tool's output that says that answers were errors; none where it says nothing of the kind.
pub(crate) fn error_line(stdout: &str) -> Option<&str> {
    stdout.lines().map(str::trim).find(|line| {
        let count = LINES.iter().find_map(|start| line.strip_prefix(start));
        count.and_then(|count| count.trim().parse::<u64>().ok()).is_some_and(|count| count > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_a_tool_counts_are_found() {
        let wrk = "  58934 requests in 2.00s, 47.77MB read\n  Non-2xx or 3xx responses: 58934\nRequests/sec:  29441.08\n";
        assert_eq!(error_line(wrk), Some("Non-2xx or 3xx responses: 58934"));
        let ab = "Failed requests:        0\nNon-2xx responses:      100\nTotal transferred:      1 bytes\n";
        assert_eq!(error_line(ab), Some("Non-2xx responses:      100"));
        assert_eq!(error_line("Non-2xx responses: 0\nRequests/sec: 3\n"), None);
        assert_eq!(error_line(""), None);
    }
}
