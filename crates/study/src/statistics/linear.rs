//! Systems of linear equations: the Cholesky factor of a symmetric matrix, and Gaussian elimination. Pure.

/// The Cholesky factor of a positive definite matrix M = L L': the rows of L up to the diagonal.
#[derive(Debug, Clone)]
pub struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Factors a symmetric matrix of `size` rows, given cell by cell; only the lower triangle is read. `None` where it is not positive
    /// definite: where no more than the share `tolerance` of a cell on the diagonal is left, which may be rounding alone.
    pub fn of(size: usize, tolerance: f64, cell: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(size);
        for i in 0..size {
            let mut row: Vec<f64> = Vec::with_capacity(i + 1);
            for (j, above) in rows.iter().enumerate() {
                let known: f64 = row.iter().zip(above).map(|(a, b)| a * b).sum();
                row.push((cell(i, j) - known) / above[j]);
            }
            let diagonal = cell(i, i);
            let rest = diagonal - row.iter().map(|x| x * x).sum::<f64>();
            if rest.is_nan() || rest <= tolerance * diagonal.max(1e-300) {
                return None;
            }
            row.push(rest.sqrt());
            rows.push(row);
        }
        Some(Self { rows })
    }

    /// The logarithm of the determinant of M.
    pub fn log_determinant(&self) -> f64 {
        self.rows.iter().enumerate().map(|(i, row)| 2.0 * row[i].ln()).sum()
    }

    /// The product L `x`.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| row.iter().zip(x).map(|(l, x)| l * x).sum()).collect()
    }

    /// The x with L x = `right`.
    pub fn forward(&self, right: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(right.len());
        for (row, right) in self.rows.iter().zip(right) {
            let known: f64 = row.iter().zip(&x).map(|(l, x)| l * x).sum();
            let at = x.len();
            x.push((right - known) / row[at]);
        }
        x
    }

    /// The x with M x = `right`. Reads L row by row: for large matrices.
    pub fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x = self.forward(right);
        for i in (0..x.len()).rev() {
            x[i] /= self.rows[i][i];
            let (value, row) = (x[i], &self.rows[i]);
            x[..i].iter_mut().zip(row).for_each(|(rest, l)| *rest -= l * value);
        }
        x
    }

    /// As [`Cholesky::solve`], column by column: it adds in another order and so rounds otherwise. Effects of factors are
    /// computed with it, so that evidence of a case stays the same to the last digit.
    pub fn solve_by_columns(&self, right: &[f64]) -> Vec<f64> {
        let mut x = self.forward(right);
        for i in (0..x.len()).rev() {
            let known: f64 = (i + 1..x.len()).map(|k| self.rows[k][i] * x[k]).sum();
            x[i] = (x[i] - known) / self.rows[i][i];
        }
        x
    }
}

/// Solves a symmetric positive definite system by Gaussian elimination, in place: `right` becomes the solution. An unknown that the
/// equations do not determine is 0.
pub fn eliminate<Row: AsMut<[f64]>>(matrix: &mut [Row], right: &mut [f64]) {
    let size = right.len();
    for k in 0..size {
        let (above, below) = matrix.split_at_mut(k + 1);
        let pivot = &above[k].as_mut()[k..];
        for (row, at) in below.iter_mut().zip(k + 1..) {
            let row = &mut row.as_mut()[k..];
            let factor = if pivot[0] == 0.0 { 0.0 } else { row[0] / pivot[0] };
            row.iter_mut().zip(pivot).for_each(|(value, of_pivot)| *value -= factor * of_pivot);
            right[at] -= factor * right[k];
        }
    }
    for k in (0..size).rev() {
        let row = matrix[k].as_mut();
        let known: f64 = (k + 1..size).map(|column| row[column] * right[column]).sum();
        right[k] = if row[k] == 0.0 { 0.0 } else { (right[k] - known) / row[k] };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: [[f64; 3]; 3] = [[4.0, 2.0, 0.4], [2.0, 3.0, 0.5], [0.4, 0.5, 1.0]];
    const RIGHT: [f64; 3] = [1.0, 2.0, 3.0];

    fn factor() -> Cholesky {
        Cholesky::of(3, 0.0, |i, j| MATRIX[i][j]).unwrap()
    }

    fn assert_solves(x: &[f64]) {
        for (row, right) in MATRIX.iter().zip(RIGHT) {
            let sum: f64 = row.iter().zip(x).map(|(a, x)| a * x).sum();
            assert!((sum - right).abs() < 1e-12, "{x:?}");
        }
    }

    #[test]
    fn every_solver_solves() {
        assert_solves(&factor().solve(&RIGHT));
        assert_solves(&factor().solve_by_columns(&RIGHT));
        let (mut matrix, mut right) = (MATRIX, RIGHT);
        eliminate(&mut matrix, &mut right);
        assert_solves(&right);
        let (mut rows, mut right) = (MATRIX.map(|row| row.to_vec()), RIGHT);
        eliminate(&mut rows, &mut right);
        assert_solves(&right);
    }

    #[test]
    fn the_factor_times_what_it_solves_is_the_right_side() {
        let back = factor().times(&factor().forward(&RIGHT));
        assert!(back.iter().zip(RIGHT).all(|(back, right)| (back - right).abs() < 1e-12), "{back:?}");
        // 4 (3 - 0.25) - 2 (2 - 0.2) + 0.4 (1 - 1.2)
        assert!((factor().log_determinant() - 7.32_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        assert!(Cholesky::of(1, 0.0, |_, _| -1.0).is_none());
        assert!(Cholesky::of(1, 0.0, |_, _| f64::NAN).is_none());
        assert!(Cholesky::of(2, 1e-10, |_, _| 0.1).is_none(), "both rows are the same");
    }

    #[test]
    fn an_unknown_that_no_equation_has_is_zero() {
        let (mut matrix, mut right) = ([[2.0, 0.0], [0.0, 0.0]], [4.0, 0.0]);
        eliminate(&mut matrix, &mut right);
        assert_eq!(right, [2.0, 0.0]);
    }
}
