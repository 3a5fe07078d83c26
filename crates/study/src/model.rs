//! The linear model of a factorial study: which combination of arms tells which effect. Pure.
//!
//! Effects coding: each factor's levels sum to zero, so that an effect is a difference of levels averaged over the levels of the
//! other factors, and with all combinations tried it is just the difference of their means.

/// Which effects the model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terms {
    /// Main effects alone.
    Main,
    /// Main effects, and interactions of two factors.
    Interactions,
}

impl Terms {
    /// Interactions where so many arms leave room for them.
    pub fn that_fit(sizes: &[usize], arms: usize) -> Self {
        match Model::new(sizes, Self::Interactions).width <= arms {
            true => Self::Interactions,
            false => Self::Main,
        }
    }
}

/// A model of factors with so many levels.
#[derive(Debug, Clone)]
pub struct Model {
    sizes: Vec<usize>,
    terms: Terms,
    width: usize,
}

/// One level of a factor: (factor, level).
pub type At = (usize, usize);

impl Model {
    /// The model of factors with `sizes` levels each.
    pub fn new(sizes: &[usize], terms: Terms) -> Self {
        let mut model = Self { sizes: sizes.to_vec(), terms, width: 0 };
        model.width = model.row(&vec![0; sizes.len()]).len();
        model
    }

    /// Which effects it has.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// The model's row of a combination.
    pub fn row(&self, choice: &[usize]) -> Vec<f64> {
        let codes: Vec<Vec<f64>> =
            choice.iter().zip(&self.sizes).map(|(level, size)| codes(*level, *size)).collect();
        self.expanded(&codes)
    }

    /// 1, the codes of each factor, and their products where the model has interactions.
    fn expanded(&self, codes: &[Vec<f64>]) -> Vec<f64> {
        let mut row = vec![1.0];
        row.extend(codes.iter().flatten());
        if self.terms == Terms::Interactions {
            for (i, a) in codes.iter().enumerate() {
                for b in &codes[i + 1..] {
                    row.extend(a.iter().flat_map(|x| b.iter().map(move |y| x * y)));
                }
            }
        }
        row
    }

    /// Log of the determinant of the information of `rows`; a tiny ridge keeps a singular choice comparable.
    pub fn log_determinant<'a>(&self, rows: impl Iterator<Item = &'a [f64]>) -> f64 {
        const RIDGE: f64 = 1e-6;
        let information = information(rows, self.width, RIDGE);
        cholesky(&information)
            .map_or(f64::NEG_INFINITY, |factor| (0..self.width).map(|i| 2.0 * factor[i][i].ln()).sum())
    }

    /// Weights of the arms whose sum is the effect of level `to` against level `from` of a factor, averaged over the other
    /// factors; `None` when these arms do not tell it.
    pub fn main_effect(&self, arms: &[Vec<usize>], from: At, to: At) -> Option<Vec<f64>> {
        let difference = self.difference(&[to], &[from]);
        self.weights(arms, &difference)
    }

    /// Weights of the arms whose sum is the interaction of two factors: how much more `a` against the first level of its
    /// factor does at `b` than at the first level of that one.
    pub fn interaction(&self, arms: &[Vec<usize>], a: At, b: At) -> Option<Vec<f64>> {
        if self.terms == Terms::Main {
            return None;
        }
        let at = |a: At, b: At| self.averaged(&[a, b]);
        let (a0, b0) = ((a.0, 0), (b.0, 0));
        let (both, one, other, none) = (at(a, b), at(a, b0), at(a0, b), at(a0, b0));
        let target: Vec<f64> = (0..self.width).map(|i| both[i] - one[i] - other[i] + none[i]).collect();
        self.weights(arms, &target)
    }

    fn difference(&self, to: &[At], from: &[At]) -> Vec<f64> {
        self.averaged(to).iter().zip(self.averaged(from)).map(|(a, b)| a - b).collect()
    }

    /// The model's row with these levels, averaged over all other factors: their codes sum to zero.
    fn averaged(&self, fixed: &[At]) -> Vec<f64> {
        let codes: Vec<Vec<f64>> = (0..self.sizes.len())
            .map(|factor| match fixed.iter().find(|(at, _)| *at == factor) {
                Some((_, level)) => codes(*level, self.sizes[factor]),
                None => vec![0.0; self.sizes[factor] - 1],
            })
            .collect();
        self.expanded(&codes)
    }

    /// Least-squares weights: `target` (X'X)^-1 X'.
    fn weights(&self, arms: &[Vec<usize>], target: &[f64]) -> Option<Vec<f64>> {
        let rows: Vec<Vec<f64>> = arms.iter().map(|choice| self.row(choice)).collect();
        let factor = cholesky(&information(rows.iter().map(Vec::as_slice), self.width, 0.0))?;
        let solved = solve(&factor, target);
        Some(rows.iter().map(|row| row.iter().zip(&solved).map(|(a, b)| a * b).sum()).collect())
    }
}

/// The effects codes of a level: one column a level but the last, which is -1 in all.
fn codes(level: usize, size: usize) -> Vec<f64> {
    (0..size - 1)
        .map(|column| match level {
            _ if level == size - 1 => -1.0,
            _ if level == column => 1.0,
            _ => 0.0,
        })
        .collect()
}

/// X'X with `ridge` on its diagonal.
fn information<'a>(rows: impl Iterator<Item = &'a [f64]>, width: usize, ridge: f64) -> Vec<Vec<f64>> {
    let mut sum = vec![vec![0.0; width]; width];
    for row in rows {
        for i in 0..width {
            for j in 0..=i {
                sum[i][j] += row[i] * row[j];
            }
        }
    }
    (0..width).for_each(|i| sum[i][i] += ridge);
    sum
}

/// The lower triangle L with L L' = `matrix` (of which only the lower triangle is read); `None` when it is singular.
fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let mut lower = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] - sum;
            if i == j {
                // Relative to what it was: rounding leaves a little of nothing.
                if rest <= 1e-10 * matrix[i][i].max(1e-300) {
                    return None;
                }
                lower[i][i] = rest.sqrt();
            } else {
                lower[i][j] = rest / lower[j][j];
            }
        }
    }
    Some(lower)
}

/// The x with L L' x = `right`.
fn solve(lower: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let n = right.len();
    let mut x = right.to_vec();
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
        x[i] = (x[i] - sum) / lower[i][i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / lower[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    fn all(sizes: &[usize]) -> Vec<Vec<usize>> {
        sizes.iter().fold(vec![vec![]], |choices: Vec<Vec<usize>>, size| {
            choices.iter().flat_map(|c| (0..*size).map(move |l| [c.as_slice(), &[l]].concat())).collect()
        })
    }

    #[test]
    fn with_all_combinations_an_effect_is_a_difference_of_means() {
        let model = Model::new(&[2, 2], Terms::Interactions);
        let arms = all(&[2, 2]);
        let main = model.main_effect(&arms, (0, 0), (0, 1)).unwrap();
        assert!(close(&main, &[-0.5, -0.5, 0.5, 0.5]), "{main:?}");
        let both = model.interaction(&arms, (0, 1), (1, 1)).unwrap();
        assert!(close(&both, &[1.0, -1.0, -1.0, 1.0]), "{both:?}");
        let three = Model::new(&[3, 2], Terms::Interactions);
        let main = three.main_effect(&all(&[3, 2]), (0, 0), (0, 2)).unwrap();
        assert!(close(&main, &[-0.5, -0.5, 0.0, 0.0, 0.5, 0.5]), "{main:?}");
    }

    #[test]
    fn arms_that_do_not_tell_an_effect_give_none() {
        let model = Model::new(&[2, 2], Terms::Main);
        assert!(
            model.main_effect(&[vec![0, 0], vec![1, 1]], (0, 0), (0, 1)).is_none(),
            "both changed together"
        );
        assert!(model.interaction(&all(&[2, 2]), (0, 1), (1, 1)).is_none());
        assert_eq!(Terms::that_fit(&[2, 2, 2, 2], 8), Terms::Main);
        assert_eq!(Terms::that_fit(&[2, 2], 4), Terms::Interactions);
    }

    proptest::proptest! {
        #[test]
        fn known_effects_come_out_of_a_fraction(effects in proptest::collection::vec(-1.0f64..1.0, 5), offset in -9.0f64..9.0) {
            // Main effects of 3 x 2 x 2 x 2 levels, from 9 of the 24 combinations.
            let sizes = [3, 2, 2, 2];
            let model = Model::new(&sizes, Terms::Main);
            let arms: Vec<Vec<usize>> = all(&sizes).into_iter().enumerate().filter(|(i, _)| [0, 3, 5, 9, 10, 12, 15, 18, 22].contains(i)).map(|(_, c)| c).collect();
            let value = |c: &[usize]| offset + [0.0, effects[0], effects[1]][c[0]] + effects[2] * c[1] as f64 + effects[3] * c[2] as f64 + effects[4] * c[3] as f64;
            let of = |weights: Vec<f64>| weights.iter().zip(&arms).map(|(w, c)| w * value(c)).sum::<f64>();
            for (from, to, truth) in [((0, 0), (0, 1), effects[0]), ((0, 1), (0, 2), effects[1] - effects[0]), ((1, 0), (1, 1), effects[2]), ((3, 0), (3, 1), effects[4])] {
                let found = of(model.main_effect(&arms, from, to).unwrap());
                proptest::prop_assert!((found - truth).abs() < 1e-9, "{} {}", found, truth);
            }
        }
    }
}
