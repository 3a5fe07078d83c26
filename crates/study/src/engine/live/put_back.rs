//! Whether all of a trial has been taken back.

use change::Undone;
use machine::{Class, Fault};

/// Fails when something of a trial is still in force.
pub(super) fn complete(undone: &[Undone]) -> Result<(), Fault> {
    let left: Vec<&Undone> = undone.iter().filter(|undone| !undone.how.is_final()).collect();
    if left.is_empty() {
        return Ok(());
    }
    let all: Vec<String> = left.iter().map(|left| left.to_string()).collect();
    let cause = format!("not everything could be undone: {}", all.join("; "));
    Err(Fault::new(Class::No, "the machine is not as it was", cause, "check it, then run 'pinwise undo'"))
}

#[cfg(test)]
mod tests {
    use change::{How, Reading};

    use super::*;

    #[test]
    fn what_is_still_in_force_is_named_and_what_is_gone_is_not() {
        let undone = |object: &str, how| Undone {
            seq: 0,
            object: object.into(),
            old: "0-1".into(),
            how,
            heirs: 0,
            note: None,
        };
        complete(&[undone("thread 7", How::Restored), undone("thread 8", How::Gone)]).unwrap();
        complete(&[]).unwrap();
        let stuck = How::Incomplete { now: Reading::Words("1".into()) };
        let fault = complete(&[undone("thread 7", How::Restored), undone("thread 9", stuck)]).unwrap_err();
        assert!(fault.cause.contains("thread 9") && !fault.cause.contains("thread 7"), "{fault}");
        assert_eq!(fault.class, Class::No);
    }
}
