//! Ten steps from near to far, as a digit and as a colour.

use crate::terminal_style::Style;

/// Steps.
pub(super) const STEPS: usize = 10;

/// Steps that differ by less are noise, and would paint a pattern where there is none.
const LEAST_FACTOR: f64 = 1.05;

/// Colours of the 256 of a terminal, pale yellow to dark red, with black text on the pale and white on the dark ones.
const BACKGROUNDS: [u8; STEPS] = [230, 229, 222, 221, 215, 209, 203, 167, 131, 88];
const FIRST_DARK: usize = 7;

/// Steps of equal factors from the lowest figure to the highest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shades {
    lowest: f64,
    pub(super) factor: f64,
}

impl Shades {
    /// For these figures; `None` when there is none above 0.
    pub(super) fn of(figures: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut lowest, mut highest) = (f64::INFINITY, 0.0_f64);
        for figure in figures.filter(|figure| figure.is_finite() && *figure > 0.0) {
            (lowest, highest) = (lowest.min(figure), highest.max(figure));
        }
        let factor = (highest / lowest).powf(1.0 / STEPS as f64).max(LEAST_FACTOR);
        (highest > 0.0).then_some(Self { lowest, factor })
    }

    /// The step of a figure, 0 to 9.
    pub(super) fn step(&self, figure: f64) -> usize {
        let steps = (figure / self.lowest).max(1.0).ln() / self.factor.ln();
        // What is at an edge but for rounding belongs above it.
        ((steps + 1e-9) as usize).min(STEPS - 1)
    }

    /// The figure at which a step begins.
    pub(super) fn begins(&self, step: usize) -> f64 {
        self.lowest * self.factor.powi(step as i32)
    }
}

/// Text on the colour of a step, where the terminal has colours.
pub(super) fn painted(text: &str, step: usize, style: Style) -> String {
    if !style.colour {
        return text.into();
    }
    let foreground = if step < FIRST_DARK { 16 } else { 231 };
    format!("\x1b[38;5;{foreground};48;5;{}m{text}\x1b[0m", BACKGROUNDS[step.min(STEPS - 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_equal_factors_and_noise_is_one_step() {
        let shades = Shades::of([20.0, 40.0, 20.0 * 1024.0].into_iter()).unwrap();
        assert!((shades.factor - 2.0).abs() < 1e-9);
        assert_eq!([20.0, 39.0, 41.0, 20_480.0, 1e9, 1.0].map(|ns| shades.step(ns)), [0, 0, 1, 9, 9, 0]);
        assert!((shades.begins(3) - 160.0).abs() < 1e-6);
        let even = Shades::of([50.0, 51.0, 52.0].into_iter()).unwrap();
        assert_eq!([50.0, 51.0, 52.0].map(|ns| even.step(ns)), [0; 3]);
        assert_eq!(Shades::of([0.0, f64::NAN].into_iter()), None);
    }
}
