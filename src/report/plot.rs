//! Draws plots as SVG: grouped bars and lines.
//!
//! It does not know what the numbers mean.

use std::fmt::Write;

use super::page::escaped;

/// Colours that most people with impaired colour vision can tell apart.
const COLORS: [&str; 8] =
    ["#4477aa", GREEN, "#ee6677", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222"];
/// The second colour: a second series is often of fixed bugs, and these are no alarm.
const GREEN: &str = "#228833";
/// The style for light and dark, as for pictures of executions.
const STYLE: &str = ".plot{color:#1b1d21;background:#fff}\
    @media(prefers-color-scheme:dark){.plot{color:#e7e9ec;background:#15171b}}";
const WIDE: f64 = 460.0;
const HIGH: f64 = 240.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 34.0;
const BELOW: f64 = 44.0;
/// The width of the widest digits in a label, and the space between two labels.
const LETTER: f64 = 7.7;
const GAP: f64 = 16.0;

/// How a vertical axis maps values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From 0 to 100.
    Percent,
    /// From 0 to a round number.
    Count,
    /// Powers of ten; values that are not positive are drawn at the bottom.
    Log,
}

/// A panel: groups along the axis, each with a bar or a point for each series.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The title above the panel.
    pub title: String,
    /// The scale of the vertical axis.
    pub scale: Scale,
    /// The names of the groups, below the axis.
    pub groups: Vec<String>,
    /// The values, by group and series.
    pub values: Vec<Vec<Option<f64>>>,
    /// Whether each series is a line; otherwise its values are bars.
    pub lines: bool,
}

/// The plot: panels in rows of two, and a legend for the series.
pub fn svg(title: &str, series: &[String], panels: &[Panel]) -> String {
    let cell = (LEFT + WIDE + 20.0, TOP + HIGH + BELOW);
    let columns = panels.len().clamp(1, 2);
    let rows = panels.len().div_ceil(columns);
    let width = cell.0 * columns as f64;
    let legend = 30.0 + 18.0 * series.len().div_ceil(4) as f64;
    let height = 36.0 + cell.1 * rows as f64 + legend;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\" class=\"plot\" \
         role=\"img\" aria-label=\"{}\" fill=\"currentColor\">\n<style>{STYLE}</style>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
        escaped(title),
        escaped(title)
    );
    for (i, panel) in panels.iter().enumerate() {
        let x = cell.0 * (i % columns) as f64 + LEFT;
        let y = 36.0 + cell.1 * (i / columns) as f64 + TOP;
        panel.draw(x, y, &mut out);
    }
    let y = 36.0 + cell.1 * rows as f64 + 16.0;
    for (i, name) in series.iter().enumerate() {
        let (x, y) = (LEFT + 230.0 * (i % 4) as f64, y + 18.0 * (i / 4) as f64);
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            y - 10.0,
            color(i),
            x + 18.0,
            y,
            escaped(name)
        );
    }
    out + "</svg>\n"
}

fn color(series: usize) -> &'static str {
    COLORS[series % COLORS.len()]
}

impl Panel {
    /// The smallest of 1, 2 or 5 times a power of ten that is not below any value.
    fn round_top(&self) -> f64 {
        let most = self.values.iter().flatten().flatten().copied().fold(1.0, f64::max).min(1e15);
        let power = 10f64.powf(most.log10().floor());
        let sizes = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
        sizes.into_iter().find(|top| *top >= most).unwrap_or(most)
    }

    /// The powers of ten between which the values lie.
    fn decades(&self) -> (i32, i32) {
        let seen = || self.values.iter().flatten().flatten().copied().filter(|v| *v > 0.0);
        let least = seen().fold(f64::INFINITY, f64::min);
        let most = seen().fold(0.0, f64::max);
        if most <= 0.0 {
            return (0, 1);
        }
        let low = least.log10().floor().clamp(-300.0, 300.0) as i32;
        let high = most.log10().ceil().clamp(-300.0, 300.0) as i32;
        (low.max(high - 12), high.max(low + 1))
    }

    /// The height of a value, between 0 at the bottom and 1 at the top.
    fn place(&self, value: f64) -> f64 {
        let at = match self.scale {
            Scale::Percent => value / 100.0,
            Scale::Count => value / self.round_top(),
            Scale::Log if value <= 0.0 => 0.0,
            Scale::Log => {
                let (low, high) = self.decades();
                (value.log10() - f64::from(low)) / f64::from(high - low)
            }
        };
        at.clamp(0.0, 1.0)
    }

    fn draw(&self, x: f64, y: f64, out: &mut String) {
        let _ =
            writeln!(out, "<text x=\"{x}\" y=\"{:.1}\">{}</text>", y - 10.0, escaped(&self.title));
        let ticks: Vec<(f64, String)> = match self.scale {
            Scale::Percent => {
                (0..=5).map(|i| (f64::from(i) * 20.0, format!("{} %", i * 20))).collect()
            }
            Scale::Count => {
                let top = self.round_top();
                let parts = if top < 5.0 { top } else { 5.0 };
                let all = (0..=parts as u32).map(|i| top * f64::from(i) / parts);
                all.map(|value| (value, format!("{value:.0}"))).collect()
            }
            Scale::Log => {
                let (low, high) = self.decades();
                let step = ((high - low) / 6).max(1);
                let all = (low..=high).step_by(step as usize);
                all.map(|e| (10f64.powi(e), format!("1e{e}"))).collect()
            }
        };
        for (value, text) in ticks {
            let at = y + HIGH * (1.0 - self.place(value));
            let _ = writeln!(
                out,
                "<line x1=\"{x}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"currentColor\" stroke-opacity=\"0.2\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                x + WIDE,
                x - 6.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            out,
            "<line x1=\"{x}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"currentColor\"/>",
            x + WIDE,
            y + HIGH,
            y + HIGH
        );
        let slot = WIDE / self.groups.len().max(1) as f64;
        // Leaves out labels that would overlap or touch.
        let widest = self.groups.iter().map(|g| g.chars().count()).max().unwrap_or(1);
        let every = (((widest as f64 * LETTER + GAP) / slot).ceil() as usize).max(1);
        for (g, name) in self.groups.iter().enumerate().filter(|(g, _)| g % every == 0) {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                x + slot * (g as f64 + 0.5),
                y + HIGH + 16.0,
                escaped(name)
            );
        }
        if self.lines { self.draw_lines(x, y, slot, out) } else { self.draw_bars(x, y, slot, out) }
    }

    fn draw_bars(&self, x: f64, y: f64, slot: f64, out: &mut String) {
        for (g, values) in self.values.iter().enumerate() {
            let bar = slot * 0.8 / values.len().max(1) as f64;
            for (s, value) in values.iter().enumerate() {
                let Some(value) = value else { continue };
                let high = HIGH * self.place(*value);
                let _ = writeln!(
                    out,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{bar:.1}\" height=\"{high:.1}\" \
                     fill=\"{}\"><title>{}: {value}</title></rect>",
                    x + slot * (g as f64 + 0.1) + bar * s as f64,
                    y + HIGH - high,
                    color(s),
                    escaped(&self.groups[g])
                );
            }
        }
    }

    fn draw_lines(&self, x: f64, y: f64, slot: f64, out: &mut String) {
        let series = self.values.iter().map(Vec::len).max().unwrap_or(0);
        for s in 0..series {
            let points: Vec<String> = self
                .values
                .iter()
                .enumerate()
                .filter_map(|(g, values)| {
                    let value = (*values.get(s)?)?;
                    let at = y + HIGH * (1.0 - self.place(value));
                    Some(format!("{:.1},{at:.1}", x + slot * (g as f64 + 0.5)))
                })
                .collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
                points.join(" "),
                color(s)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_what_it_was_given() {
        let panel = |scale, lines| Panel {
            title: "a < b".into(),
            scale,
            groups: vec!["one".into(), "two".into()],
            values: vec![vec![Some(100.0), None], vec![Some(0.0), Some(1e9)]],
            lines,
        };
        let series = ["s".to_string(), "t".to_string()];
        let panels = [panel(Scale::Percent, false), panel(Scale::Log, true)];
        let text = svg("T", &series, &panels);
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
        assert!(text.contains("a &lt; b") && !text.contains("NaN") && !text.contains("inf"));
        assert_eq!(text.matches("<title>").count(), 3);
        assert_eq!(text.matches("<polyline").count(), 2);
        assert!(text.contains("height=\"240.0\""));
        assert!(!svg("", &[], &[]).contains("NaN"));
        let tops = [0.0, 1.0, 3.0, 49.0, 51.0, 500.0].map(|most| {
            Panel { values: vec![vec![Some(most)]], ..panel(Scale::Count, true) }.round_top()
        });
        assert_eq!(tops, [1.0, 1.0, 5.0, 50.0, 100.0, 500.0]);
    }
}
