//! The picture of the growth: time over bytes, both logarithmic, with the line of proportion.

use report::Html;
use report::number;
use report::svg::{self, Area, Scale, Side};

use crate::growth::Point;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const AREA: Area = Area { left: 70.0, top: 50.0, width: 640.0, height: 320.0 };

const STYLE: &str = "text { font: 13px sans-serif; fill: #333 } .grid { stroke: #ddd } .axis { font-weight: 600 } \
    .curve { fill: none; stroke: #1f6fb2; stroke-width: 2 } .dot { fill: #1f6fb2 } \
    .proportional { stroke: #999; stroke-dasharray: 6 5 } .paper { fill: #fff }";

/// The whole drawing as a file of its own.
pub fn growth(points: &[Point]) -> String {
    let range = |of: fn(&Point) -> f64| {
        let values = points.iter().map(of);
        (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max))
    };
    let x = Scale::log(range(|point| point.bytes as f64), (AREA.left, AREA.right()));
    let y = Scale::log(range(|point| point.cpu_s * 1e3), (AREA.bottom(), AREA.top));
    let mut html = Html::new();
    let view_box = format!("0 0 {WIDTH} {HEIGHT}");
    let title = "CPU time of pinwise map --format json --from DIR against the bytes that it reads";
    let attributes: report::markup::Attributes<'_> = &[
        ("xmlns", &"http://www.w3.org/2000/svg"),
        ("viewBox", &view_box),
        ("width", &WIDTH),
        ("height", &HEIGHT),
        ("role", &"img"),
        ("aria-label", &title),
    ];
    html.within("svg", attributes, |drawing| {
        drawing.element("style", &[], STYLE);
        let paper = Area { left: 0.0, top: 0.0, width: WIDTH, height: HEIGHT };
        svg::rectangle(drawing, "paper", paper, "");
        svg::text(drawing, "axis", (0.0 + 8.0, 20.0), "start", title);
        svg::draw_axis(drawing, AREA, &x, Side::Bottom, 6, "bytes read (log)");
        svg::draw_axis(drawing, AREA, &y, Side::Left, 6, "CPU time, ms (log)");
        if let Some(last) = points.last() {
            // Through the largest machine, where the fixed cost of a file weighs least.
            let proportional = |bytes: f64| last.cpu_s * 1e3 * bytes / last.bytes as f64;
            let from =
                points.iter().map(|p| p.bytes as f64).find(|b| proportional(*b) >= y_low(&points_ms(points)));
            let from = from.unwrap_or(last.bytes as f64);
            let end = (x.place(last.bytes as f64), y.place(last.cpu_s * 1e3));
            let start = (x.place(from), y.place(proportional(from)));
            svg::line(drawing, "proportional", start, end);
            svg::text(
                drawing,
                "tick",
                (start.0 + 14.0, start.1 + 4.0),
                "start",
                "in proportion to the bytes",
            );
        }
        let places: Vec<(f64, f64)> =
            points.iter().map(|point| (x.place(point.bytes as f64), y.place(point.cpu_s * 1e3))).collect();
        svg::path(drawing, "curve", &places, "measured");
        for (point, place) in points.iter().zip(places) {
            let name = format!("{} CPUs", number::count(point.cpus as usize));
            svg::dot(drawing, "dot", place, 4.0, &name);
            let right = place.0 > AREA.right() - 90.0;
            let (at, anchor) = if right { (place.0 - 8.0, "end") } else { (place.0 + 8.0, "start") };
            svg::text(drawing, "tick", (at, place.1 + if right { -8.0 } else { 16.0 }), anchor, &name);
        }
    });
    html.into_string() + "\n"
}

fn points_ms(points: &[Point]) -> Vec<f64> {
    points.iter().map(|point| point.cpu_s * 1e3).collect()
}

fn y_low(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}
