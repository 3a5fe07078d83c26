//! Tables of which most rows stay empty: a row for each kind of thing, and in it a cell for each CPU.

use crate::bpf::Record;

/// Rows of as many cells each; one that nothing was ever put into takes no memory.
#[derive(Debug, Clone)]
pub(in crate::account) struct SparseTable<T> {
    rows: Vec<Option<Box<[T]>>>,
    cells: usize,
}

impl<T: Record> SparseTable<T> {
    /// So many rows, all empty, with room for so many cells each.
    pub(in crate::account) fn with_room(rows: usize, cells: usize) -> Self {
        Self { rows: (0..rows).map(|_| None).collect(), cells }
    }

    /// A row to be written to, one of those that there are; what nothing was put into is zero.
    pub(in crate::account) fn row_mut(&mut self, row: usize) -> &mut [T] {
        self.rows[row].get_or_insert_with(|| vec![T::zeroed(); self.cells].into_boxed_slice())
    }

    /// A row; `None` where nothing was put into it.
    pub(in crate::account) fn row(&self, row: usize) -> Option<&[T]> {
        self.rows.get(row)?.as_deref()
    }

    /// A cell of it; `None` likewise, and where there is no such cell.
    pub(in crate::account) fn get(&self, row: usize, cell: usize) -> Option<&T> {
        self.row(row)?.get(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::StepsLine;

    #[test]
    fn a_row_comes_to_be_when_it_is_written_to() {
        let mut rows = SparseTable::<StepsLine>::with_room(3, 3);
        assert!(rows.get(1, 0).is_none() && rows.get(7, 0).is_none());
        rows.row_mut(1)[2].steps[0] = 4;
        rows.row_mut(2)[0].steps[0] = 5;
        let first = |row, cell| rows.get(row, cell).map(|line| line.steps[0]);
        assert_eq!((first(1, 2), first(1, 0), first(2, 0)), (Some(4), Some(0), Some(5)));
        assert_eq!((first(0, 0), first(1, 3), first(6, 0)), (None, None, None));
    }
}
