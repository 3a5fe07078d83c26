//! Rectangles in rows that wrap.

/// Widths that differ by no more than this factor stand in columns; others are packed as they are.
const ALIKE: f64 = 1.5;

/// Where rectangles stand, relative to the upper left corner.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::map::picture) struct Flow {
    /// Left and top of each.
    pub(in crate::map::picture) places: Vec<(f64, f64)>,
    /// Width and height that each is drawn with: those of a row are equally high, those of columns equally wide.
    pub(in crate::map::picture) sizes: Vec<(f64, f64)>,
    pub(in crate::map::picture) width: f64,
    pub(in crate::map::picture) height: f64,
}

impl Flow {
    /// Rows no wider than `room`, in the given order; a rectangle that is wider has a row of its own.
    pub(in crate::map::picture) fn of(sizes: &[(f64, f64)], room: f64, gap: f64) -> Self {
        let widest = sizes.iter().map(|size| size.0).fold(0.0, f64::max);
        let narrowest = sizes.iter().map(|size| size.0).fold(f64::INFINITY, f64::min);
        let mut flow = Self::default();
        if widest <= narrowest * ALIKE {
            // As many rows as there must be, filled evenly: 3 + 3 rather than 5 + 1.
            let most = (((room + gap) / (widest + gap)) as usize).max(1);
            let rows = sizes.len().div_ceil(most).max(1);
            let columns = sizes.len().div_ceil(rows).max(1);
            sizes.chunks(columns).for_each(|row| flow.add_row(row, Some(widest), gap));
            return flow;
        }
        let mut row: Vec<(f64, f64)> = Vec::new();
        let mut right = 0.0;
        for size in sizes {
            if !row.is_empty() && right + size.0 > room {
                flow.add_row(&row, None, gap);
                (row, right) = (Vec::new(), 0.0);
            }
            row.push(*size);
            right += size.0 + gap;
        }
        flow.add_row(&row, None, gap);
        flow
    }

    fn add_row(&mut self, row: &[(f64, f64)], column: Option<f64>, gap: f64) {
        if row.is_empty() {
            return;
        }
        let top = if self.places.is_empty() { 0.0 } else { self.height + gap };
        let height = row.iter().map(|size| size.1).fold(0.0, f64::max);
        let mut left = 0.0;
        for (width, _) in row {
            let width = column.unwrap_or(*width);
            self.places.push((left, top));
            self.sizes.push((width, height));
            left += width + gap;
        }
        self.width = self.width.max(left - gap);
        self.height = top + height;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ones_fill_their_rows_evenly() {
        let flow = Flow::of(&[(100.0, 10.0); 6], 540.0, 10.0);
        assert_eq!(flow.places[3], (0.0, 20.0));
        assert_eq!((flow.width, flow.height), (320.0, 30.0));
        assert_eq!(Flow::of(&[], 100.0, 10.0), Flow::default());
    }

    proptest::proptest! {
        #[test]
        fn none_overlap_and_all_are_inside(
            sizes in proptest::collection::vec((1.0f64..400.0, 1.0f64..80.0), 1..30), room in 50.0f64..900.0,
        ) {
            let flow = Flow::of(&sizes, room, 4.0);
            let boxes: Vec<_> = flow.places.iter().zip(&flow.sizes).collect();
            proptest::prop_assert_eq!(boxes.len(), sizes.len());
            for (i, ((x, y), (w, h))) in boxes.iter().enumerate() {
                proptest::prop_assert!(x + w <= flow.width + 1e-6 && y + h <= flow.height + 1e-6);
                proptest::prop_assert!(*w >= sizes[i].0 && *h >= sizes[i].1);
                for ((x2, y2), (w2, h2)) in &boxes[..i] {
                    let apart = x2 + w2 <= *x || x + w <= *x2 || y2 + h2 <= *y || y + h <= *y2;
                    proptest::prop_assert!(apart);
                }
            }
            let widest = sizes.iter().map(|s| s.0).fold(0.0, f64::max);
            proptest::prop_assert!(flow.width <= room.max(widest) + 1e-6);
        }
    }
}
