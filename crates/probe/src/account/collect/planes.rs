//! Tables of which most rows stay empty: a plane for each kind of thing, and in it a cell for each CPU.

use crate::bpf::Record;

/// Planes of as many cells each; one that nothing was ever put into takes no memory.
#[derive(Debug, Clone)]
pub(in crate::account) struct Planes<T> {
    planes: Vec<Option<Box<[T]>>>,
    cells: usize,
}

impl<T: Record> Planes<T> {
    /// So many planes, all empty, with room for so many cells each.
    pub(in crate::account) fn with_room(planes: usize, cells: usize) -> Self {
        Self { planes: (0..planes).map(|_| None).collect(), cells }
    }

    /// A plane to be written to, one of those that there are; what nothing was put into is zero.
    pub(in crate::account) fn plane_mut(&mut self, plane: usize) -> &mut [T] {
        self.planes[plane].get_or_insert_with(|| vec![T::zeroed(); self.cells].into_boxed_slice())
    }

    /// A plane; `None` where nothing was put into it.
    pub(in crate::account) fn plane(&self, plane: usize) -> Option<&[T]> {
        self.planes.get(plane)?.as_deref()
    }

    /// A cell of it; `None` likewise, and where there is no such cell.
    pub(in crate::account) fn get(&self, plane: usize, cell: usize) -> Option<&T> {
        self.plane(plane)?.get(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::StepsLine;

    #[test]
    fn a_plane_comes_to_be_when_it_is_written_to() {
        let mut planes = Planes::<StepsLine>::with_room(3, 3);
        assert!(planes.get(1, 0).is_none() && planes.get(7, 0).is_none());
        planes.plane_mut(1)[2].steps[0] = 4;
        planes.plane_mut(2)[0].steps[0] = 5;
        let first = |plane, cell| planes.get(plane, cell).map(|line| line.steps[0]);
        assert_eq!((first(1, 2), first(1, 0), first(2, 0)), (Some(4), Some(0), Some(5)));
        assert_eq!((first(0, 0), first(1, 3), first(6, 0)), (None, None, None));
    }
}
