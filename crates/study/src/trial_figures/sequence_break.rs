//! The operations at which a sequence breaks and at which swapping begins, by their numbers from 0: pure.

use machine::Missing;

use super::trial_figure::{Measured, TrialFigure};
use crate::cliff::Cliff;
use crate::recipe::Direction;

/// The first operation that is slow.
pub(super) static BREAK: TrialFigure = TrialFigure {
    name: "break_operation",
    unit: None,
    direction: Some(Direction::Higher),
    of: break_operation,
};

/// The operation in which the machine began to swap.
pub(super) static FIRST_SWAP: TrialFigure = TrialFigure {
    name: "first_swap_operation",
    unit: None,
    direction: Some(Direction::Higher),
    of: first_swap_operation,
};

fn break_operation(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    Ok(measured.cliff.and_then(broke_at).map(|operation| operation as f64))
}

fn first_swap_operation(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    Ok(measured.cliff.and_then(swapped_at).map(|operation| operation as f64))
}

fn broke_at(cliff: &Cliff) -> Option<u64> {
    cliff.breaks.as_ref().map(|broke| broke.place.operation)
}

fn swapped_at(cliff: &Cliff) -> Option<u64> {
    cliff.first_swap.map(|place| place.operation)
}

#[cfg(test)]
mod tests {
    use load::operations::{Kind, Phase};

    use super::*;
    use crate::cliff::{Break, Place};
    use crate::statistics::change_points::What;

    fn place(operation: u64) -> Place {
        Place { operation, kind: Kind::Put, phase: Phase::Fill, nth: 1, of: 100 }
    }

    #[test]
    fn a_sequence_that_holds_has_neither_figure() {
        let cliff = Cliff { parts: Vec::new(), breaks: None, first_swap: None };
        assert_eq!((broke_at(&cliff), swapped_at(&cliff)), (None, None));
        let broke = Break {
            place: place(83),
            what: What::Level,
            p: 0.001,
            before_us: 1.0,
            after_us: 10.0,
            moved: Vec::new(),
        };
        let cliff = Cliff { breaks: Some(broke), first_swap: Some(place(81)), ..cliff };
        assert_eq!((broke_at(&cliff), swapped_at(&cliff)), (Some(83), Some(81)));
    }
}
