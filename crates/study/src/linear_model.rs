//! The linear model of a factorial study: which combination of arms shows which effect. Pure.
//!
//! Effects coding: each factor's levels sum to zero, so that an effect is a difference of levels averaged over the levels of the
//! other factors, and with all combinations tried it is just the difference of their means.

use crate::statistics::linear::Cholesky;

/// The share of a diagonal cell that rounding may leave of nothing: a choice of arms with no more left is singular.
const ROUNDING: f64 = 1e-10;

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
        match Self::Interactions.width(sizes) <= arms {
            true => Self::Interactions,
            false => Self::Main,
        }
    }

    /// Length of a row: 1, each factor's codes, and the products of those of two.
    fn width(self, sizes: &[usize]) -> usize {
        let codes = |size: &usize| size.saturating_sub(1);
        let main = sizes.iter().map(codes).fold(0, usize::saturating_add);
        let products = sizes.iter().map(codes).scan(main, |rest, codes| {
            *rest = rest.saturating_sub(codes);
            Some(codes.saturating_mul(*rest))
        });
        match self {
            Self::Main => main.saturating_add(1),
            Self::Interactions => products.fold(main.saturating_add(1), usize::saturating_add),
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
        Self { sizes: sizes.to_vec(), terms, width: terms.width(sizes) }
    }

    /// Length of its rows: it takes at least so many arms to estimate all its effects.
    pub fn width(&self) -> usize {
        self.width
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

    /// The information of `rows`; a tiny ridge keeps a singular choice comparable.
    pub fn information<'a>(&self, rows: impl Iterator<Item = &'a [f64]>) -> Option<Information> {
        const RIDGE: f64 = 1e-6;
        factored(&information(rows, self.width, RIDGE)).map(|factor| Information { factor })
    }

    /// Fitted to these arms; `None` where they do not determine all effects.
    pub fn fitted(self, arms: &[Vec<usize>]) -> Option<Fitted> {
        if arms.len() < self.width {
            return None;
        }
        let rows: Vec<Vec<f64>> = arms.iter().map(|choice| self.row(choice)).collect();
        let factor = factored(&information(rows.iter().map(Vec::as_slice), self.width, 0.0))?;
        Some(Fitted { model: self, rows, factor })
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
}

/// The information of some rows together: M = X'X as L L'.
#[derive(Debug, Clone)]
pub struct Information {
    factor: Cholesky,
}

impl Information {
    /// Log of its determinant.
    pub fn log_determinant(&self) -> f64 {
        self.factor.log_determinant()
    }

    /// What one row more adds to that: det(M + x x') = det(M) (1 + x' M^-1 x).
    pub fn gain_of(&self, row: &[f64]) -> f64 {
        self.factor.forward(row).iter().map(|part| part * part).sum::<f64>().ln_1p()
    }
}

/// A model and arms that determine all its effects.
#[derive(Debug, Clone)]
pub struct Fitted {
    model: Model,
    rows: Vec<Vec<f64>>,
    factor: Cholesky,
}

impl Fitted {
    /// Weights of the arms whose sum is the effect of level `to` against level `from` of a factor, averaged over the other
    /// factors.
    pub fn main_effect(&self, from: At, to: At) -> Vec<f64> {
        let (to, from) = (self.model.averaged(&[to]), self.model.averaged(&[from]));
        let difference: Vec<f64> = to.iter().zip(from).map(|(a, b)| a - b).collect();
        self.weights(&difference)
    }

    /// Weights of the arms whose sum is the interaction of two factors: how much more `a` against the first level of its
    /// factor does at `b` than at the first level of that one; `None` of a model of main effects alone.
    pub fn interaction(&self, a: At, b: At) -> Option<Vec<f64>> {
        if self.model.terms == Terms::Main {
            return None;
        }
        let at = |a: At, b: At| self.model.averaged(&[a, b]);
        let (a0, b0) = ((a.0, 0), (b.0, 0));
        let (both, one, other, none) = (at(a, b), at(a, b0), at(a0, b), at(a0, b0));
        let target: Vec<f64> = (0..both.len()).map(|i| both[i] - one[i] - other[i] + none[i]).collect();
        Some(self.weights(&target))
    }

    /// Least-squares weights: `target` (X'X)^-1 X'.
    fn weights(&self, target: &[f64]) -> Vec<f64> {
        let solved = self.factor.solve_by_columns(target);
        self.rows.iter().map(|row| row.iter().zip(&solved).map(|(a, b)| a * b).sum()).collect()
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

fn factored(matrix: &[Vec<f64>]) -> Option<Cholesky> {
    Cholesky::of(matrix.len(), ROUNDING, |i, j| matrix[i][j])
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
        let fitted = Model::new(&[2, 2], Terms::Interactions).fitted(&all(&[2, 2])).unwrap();
        let main = fitted.main_effect((0, 0), (0, 1));
        assert!(close(&main, &[-0.5, -0.5, 0.5, 0.5]), "{main:?}");
        let both = fitted.interaction((0, 1), (1, 1)).unwrap();
        assert!(close(&both, &[1.0, -1.0, -1.0, 1.0]), "{both:?}");
        let three = Model::new(&[3, 2], Terms::Interactions).fitted(&all(&[3, 2])).unwrap();
        let main = three.main_effect((0, 0), (0, 2));
        assert!(close(&main, &[-0.5, -0.5, 0.0, 0.0, 0.5, 0.5]), "{main:?}");
    }

    #[test]
    fn arms_that_do_not_determine_an_effect_give_none() {
        let model = Model::new(&[2, 2], Terms::Main);
        let together = [vec![0, 0], vec![1, 1]];
        assert!(model.clone().fitted(&together).is_none(), "fewer arms than effects");
        let twice = [&together[..], &together[..]].concat();
        assert!(model.clone().fitted(&twice).is_none(), "both changed together");
        assert!(model.fitted(&all(&[2, 2])).unwrap().interaction((0, 1), (1, 1)).is_none());
        assert_eq!(Terms::that_fit(&[2, 2, 2, 2], 8), Terms::Main);
        assert_eq!(Terms::that_fit(&[2, 2], 4), Terms::Interactions);
    }

    #[test]
    fn a_row_more_adds_what_it_is_said_to_add() {
        for (sizes, terms) in [(vec![3, 2, 2], Terms::Main), (vec![3, 2, 4], Terms::Interactions)] {
            let model = Model::new(&sizes, terms);
            let rows: Vec<Vec<f64>> = all(&sizes).iter().map(|choice| model.row(choice)).collect();
            assert_eq!(rows[0].len(), model.width());
            let of = |rows: &[Vec<f64>]| model.information(rows.iter().map(Vec::as_slice)).unwrap();
            for few in [2, model.width(), rows.len() - 1] {
                let (before, after) = (of(&rows[..few]), of(&rows[..=few]));
                let (expected, is) =
                    (before.gain_of(&rows[few]), after.log_determinant() - before.log_determinant());
                assert!((expected - is).abs() < 1e-6, "{few} rows: {expected} {is}");
            }
        }
    }

    #[test]
    fn very_many_levels_have_a_width() {
        assert_eq!(Terms::Interactions.width(&[usize::MAX, usize::MAX, 0]), usize::MAX);
        assert_eq!(Terms::that_fit(&[1 << 20, 1 << 20], 400), Terms::Main);
    }

    proptest::proptest! {
        #[test]
        fn known_effects_come_out_of_a_fraction(effects in proptest::collection::vec(-1.0f64..1.0, 5), offset in -9.0f64..9.0) {
            // Main effects of 3 x 2 x 2 x 2 levels, from 9 of the 24 combinations.
            let sizes = [3, 2, 2, 2];
            let arms: Vec<Vec<usize>> = all(&sizes).into_iter().enumerate().filter(|(i, _)| [0, 3, 5, 9, 10, 12, 15, 18, 22].contains(i)).map(|(_, c)| c).collect();
            let value = |c: &[usize]| offset + [0.0, effects[0], effects[1]][c[0]] + effects[2] * c[1] as f64 + effects[3] * c[2] as f64 + effects[4] * c[3] as f64;
            let fitted = Model::new(&sizes, Terms::Main).fitted(&arms).unwrap();
            let of = |weights: Vec<f64>| weights.iter().zip(&arms).map(|(w, c)| w * value(c)).sum::<f64>();
            for (from, to, truth) in [((0, 0), (0, 1), effects[0]), ((0, 1), (0, 2), effects[1] - effects[0]), ((1, 0), (1, 1), effects[2]), ((3, 0), (3, 1), effects[4])] {
                let found = of(fitted.main_effect(from, to));
                proptest::prop_assert!((found - truth).abs() < 1e-9, "{} {}", found, truth);
            }
        }
    }
}
