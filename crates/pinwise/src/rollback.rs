//! The result of a run whose changes were taken back, wholly or in part. Exit code 130 promises that the machine is as it was.

use machine::{Class, Fault};

use crate::notes::note;

/// The result of a run once its changes were taken back. A change that could not be taken back outweighs any other fault; that one is printed
/// first, unless it was an interruption.
///
/// # Errors
/// Those of either.
pub fn finish<T>(ran: Result<T, Fault>, taken_back: Result<(), Fault>) -> Result<T, Fault> {
    match (ran, taken_back) {
        (ran, Ok(())) => ran,
        (Ok(_), Err(left)) => Err(left),
        (Err(fault), Err(left)) => {
            if fault.class != Class::Interrupted {
                note!("pinwise: {fault}");
            }
            Err(left)
        }
    }
}

/// The fault of a run that has left `what` in place, on purpose or not, which `pinwise undo` takes back.
pub fn left_in_place(fault: Fault, what: &str) -> Fault {
    let remedy = match fault.remedy.is_empty() {
        true => "undo it with: pinwise undo".into(),
        false => format!("{}; or undo what remains with: pinwise undo", fault.remedy),
    };
    Fault {
        class: fault.class.with_something_left(),
        cause: format!("{}; {what}", fault.cause),
        remedy,
        ..fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(class: Class, cause: &str) -> Fault {
        Fault::new(class, "x", cause, "resume")
    }

    #[test]
    fn an_interruption_stays_one_only_where_everything_was_taken_back() {
        let stopped = || Err::<(), _>(fault(Class::Interrupted, "stopped"));
        let left = || Err(fault(Class::No, "left"));
        assert_eq!(finish(stopped(), Ok(())).unwrap_err().class, Class::Interrupted);
        assert_eq!(finish(stopped(), left()).unwrap_err().cause, "left");
        assert_eq!(finish(Ok(()), left()).unwrap_err().cause, "left");
        assert_eq!(finish(Ok(7), Ok(())), Ok(7));
    }

    #[test]
    fn what_stays_on_purpose_is_named_with_the_way_to_take_it_back_and_is_no_interruption() {
        let kept = left_in_place(fault(Class::Interrupted, "stopped"), "words stay");
        assert_eq!((kept.class, &*kept.cause), (Class::No, "stopped; words stay"));
        assert!(kept.remedy.starts_with("resume;") && kept.remedy.contains("pinwise undo"), "{kept}");
        assert_eq!(
            left_in_place(fault(Class::WorkloadFailed, "died"), "words stay").class,
            Class::WorkloadFailed
        );
    }
}
