//! Drawings of executions: text for Graphviz, and SVG laid out here.
//!
//! It knows executions as they are shown to people, and neither models nor tests.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use litmake_litmus::execution::Execution;

/// An edge, or several between the same two events.
struct Line {
    from: usize,
    to: usize,
    label: String,
    color: &'static str,
}

/// What is drawn between events: the cycle of a failed check over everything else.
fn lines(e: &Execution) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    let mut add = |from: usize, to: usize, label: &str, color: &'static str| match out
        .iter_mut()
        .find(|l| (l.from, l.to) == (from, to))
    {
        Some(line) if line.label.split(", ").any(|l| l == label) => {}
        Some(line) => {
            line.label.push_str(", ");
            line.label.push_str(label);
        }
        None => out.push(Line { from, to, label: label.to_string(), color }),
    };
    // What a cycle goes through is red, and says itself what it is made of.
    let cycle: Vec<_> = e.failures.first().iter().flat_map(|f| f.chains.iter().flatten()).collect();
    let base = |label: &str| label.split(" (").next().unwrap_or("").to_string();
    for edge in &cycle {
        add(edge.from, edge.to, &edge.label, "red");
    }
    let in_cycle = |from: usize, to: usize, label: &str| {
        let same = |name: &str| {
            let short = name.trim_end_matches(['e', 'i']);
            name == label || short == label
        };
        cycle.iter().any(|c| {
            let inner = c.label.split(" (").nth(1).unwrap_or("").trim_end_matches(')');
            (c.from, c.to) == (from, to) && (same(&base(&c.label)) || same(inner))
        })
    };
    for (pairs, label, color) in [
        (&e.po, "po", "gray"),
        (&e.rf, "rf", "green"),
        (&e.co, "co", "brown"),
        (&e.fr, "fr", "orange"),
    ] {
        for (from, to) in pairs.iter().filter(|(f, t)| !in_cycle(*f, *t, label)) {
            add(*from, *to, label, color);
        }
    }
    for (name, pairs) in &e.others {
        for (from, to) in steps(pairs) {
            add(from, to, name, "indigo");
        }
    }
    out
}

/// The pairs that do not follow from two others: what there is to draw of an order.
fn steps(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let all: HashSet<(usize, usize)> = pairs.iter().copied().collect();
    let mut after: HashMap<usize, Vec<usize>> = HashMap::new();
    for (a, b) in pairs {
        after.entry(*a).or_default().push(*b);
    }
    let follows = |(a, c): (usize, usize)| {
        let between = after.get(&a).into_iter().flatten();
        between
            .copied()
            .any(|b| b != a && b != c && all.contains(&(b, c)) && !all.contains(&(b, a)))
    };
    pairs.iter().copied().filter(|p| !follows(*p)).collect()
}

/// The events of each column: initial writes, then each thread.
fn columns(e: &Execution) -> Vec<(String, Vec<usize>)> {
    let threads = e.events.iter().filter_map(|v| v.thread).max().map_or(0, |t| usize::from(t) + 1);
    let mut out = vec![("Init".to_string(), Vec::new())];
    out.extend((0..threads).map(|t| (format!("Thread {t}"), Vec::new())));
    for (i, view) in e.events.iter().enumerate() {
        out[view.thread.map_or(0, |t| usize::from(t) + 1)].1.push(i);
    }
    out.retain(|(_, events)| !events.is_empty());
    out
}

fn title(name: &str, e: &Execution) -> String {
    let state: Vec<String> = e.state.iter().map(|(k, v)| format!("{k}={v};")).collect();
    let verdict = match e.failures.first() {
        Some(f) => format!("forbidden by {}", f.name),
        None => "allowed".to_string(),
    };
    format!("{name}: {} ({verdict})", state.join(" "))
}

fn label(e: &Execution, i: usize) -> String {
    format!("{}: {}", Execution::letter(i), e.events[i].text)
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n").replace('\r', ""))
}

/// One digraph an execution.
pub fn dot(name: &str, executions: &[Execution]) -> String {
    let mut out = String::new();
    for e in executions {
        let _ = writeln!(out, "digraph {} {{", quoted(name));
        let _ = writeln!(out, "  label={};\n  node [shape=plaintext];", quoted(&title(name, e)));
        for (k, (head, events)) in columns(e).iter().enumerate() {
            let _ = writeln!(out, "  subgraph cluster_{k} {{\n    label={};", quoted(head));
            for i in events {
                let _ = writeln!(out, "    e{i} [label={}];", quoted(&label(e, *i)));
            }
            out.push_str("  }\n");
        }
        for l in lines(e) {
            let wide = if l.color == "red" { ", penwidth=2" } else { "" };
            let _ = writeln!(
                out,
                "  e{} -> e{} [label={}, color={c}, fontcolor={c}{wide}];",
                l.from,
                l.to,
                quoted(&l.label),
                c = l.color
            );
        }
        out.push_str("}\n");
    }
    out
}

pub(super) fn escaped(text: &str) -> String {
    let text = litmake_base::plain::text(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Sizes of the picture, in pixels.
const WIDE: f64 = 260.0;
const HIGH: f64 = 80.0;
/// What a letter of the events' and of the edges' text takes.
const LETTER: f64 = 8.5;
const SMALL: f64 = 6.7;

#[derive(Clone, Copy)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn around(x: f64, y: f64, wide: f64, high: f64) -> Area {
        Area {
            left: x - wide / 2.0,
            right: x + wide / 2.0,
            top: y - high / 2.0,
            bottom: y + high / 2.0,
        }
    }

    fn meets(&self, o: &Area) -> bool {
        self.left < o.right && o.left < self.right && self.top < o.bottom && o.top < self.bottom
    }
}

/// A curve from one place to another, bent towards a third.
struct Curve {
    from: (f64, f64),
    by: (f64, f64),
    to: (f64, f64),
}

impl Curve {
    /// Between the texts of two events; `nth` of those between the two.
    fn between(a: &Area, b: &Area, nth: usize) -> Curve {
        let middle = |o: &Area| ((o.left + o.right) / 2.0, (o.top + o.bottom) / 2.0);
        let ((x1, y1), (x2, y2)) = (middle(a), middle(b));
        let bend = 26.0 * nth as f64;
        if (x1 - x2).abs() < 1.0 {
            let (down, rows) = (y2 > y1, (y2 - y1).abs() / HIGH);
            if rows < 1.5 && nth == 0 {
                let (from, to) = if down { (a.bottom, b.top) } else { (a.top, b.bottom) };
                return Curve { from: (x1, from), by: (x1, (from + to) / 2.0), to: (x2, to) };
            }
            let out = a.right.max(b.right) + 16.0 + 18.0 * rows + bend;
            return Curve { from: (a.right, y1), by: (out, (y1 + y2) / 2.0), to: (b.right, y2) };
        }
        let right = x2 > x1;
        let (from, to) = if right { (a.right, b.left) } else { (a.left, b.right) };
        // Past other columns it keeps off their middle.
        let columns = ((x1 - x2).abs() / WIDE).round();
        let off =
            if (y1 - y2).abs() < 1.0 { 34.0 * (columns - 1.0) } else { 10.0 * (columns - 1.0) };
        Curve {
            from: (from, y1),
            by: ((from + to) / 2.0, (y1 + y2) / 2.0 - off - bend),
            to: (to, y2),
        }
    }

    fn at(&self, t: f64) -> (f64, f64) {
        let mix = |a: f64, b: f64, c: f64| {
            (1.0 - t) * (1.0 - t) * a + 2.0 * t * (1.0 - t) * b + t * t * c
        };
        (mix(self.from.0, self.by.0, self.to.0), mix(self.from.1, self.by.1, self.to.1))
    }
}

/// One picture: a row of threads an execution, events downwards.
pub fn svg(name: &str, executions: &[Execution]) -> String {
    let mut body = String::new();
    let (mut top, mut width) = (0.0f64, 400.0f64);
    for e in executions {
        let columns = columns(e);
        let heading = title(name, e);
        let _ = writeln!(
            body,
            "<text class=\"t\" x=\"20\" y=\"{:.0}\">{}</text>",
            top + 24.0,
            escaped(&heading)
        );
        let mut areas = vec![Area::around(0.0, 0.0, 0.0, 0.0); e.events.len()];
        for (k, (head, events)) in columns.iter().enumerate() {
            let x = 130.0 + k as f64 * WIDE;
            let _ = writeln!(
                body,
                "<text class=\"t\" text-anchor=\"middle\" x=\"{x:.0}\" y=\"{:.0}\">{head}</text>",
                top + 56.0
            );
            for (row, i) in events.iter().enumerate() {
                let wide = LETTER * label(e, *i).chars().count() as f64 + 10.0;
                areas[*i] = Area::around(x, top + 86.0 + row as f64 * HIGH, wide, 24.0);
            }
        }
        let mut taken = areas.clone();
        let mut labels = String::new();
        let mut pairs: HashMap<(usize, usize), usize> = HashMap::new();
        for l in lines(e) {
            let nth = pairs.entry((l.from.min(l.to), l.from.max(l.to))).or_insert(0);
            let curve = Curve::between(&areas[l.from], &areas[l.to], *nth);
            *nth += 1;
            let color = l.color;
            let ((x1, y1), (mx, my), (x2, y2)) = (curve.from, curve.by, curve.to);
            let _ = writeln!(
                body,
                "<path class=\"{color}\" marker-end=\"url(#{color})\" \
                 d=\"M{x1:.0} {y1:.0} Q{mx:.0} {my:.0} {x2:.0} {y2:.0}\"/>"
            );
            let wide = SMALL * l.label.chars().count() as f64 + 4.0;
            let place = |t: &f64| {
                let (x, y) = curve.at(*t);
                Area::around(x, y, wide, 13.0)
            };
            let free = |t: &&f64| !taken.iter().any(|o| o.meets(&place(t)));
            let along = [0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8];
            let area = place(along.iter().find(free).unwrap_or(&0.5));
            taken.push(area);
            width = width.max(area.right + 20.0);
            let _ = writeln!(
                labels,
                "<text class=\"l {color}\" text-anchor=\"middle\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
                (area.left + area.right) / 2.0,
                area.bottom - 3.0,
                escaped(&l.label)
            );
        }
        // Texts lie over all lines.
        body.push_str(&labels);
        for (i, area) in areas.iter().enumerate() {
            let tip = escaped(&e.events[i].instruction);
            let _ = writeln!(
                body,
                "<text class=\"e\" text-anchor=\"middle\" x=\"{:.0}\" y=\"{:.0}\">{}<title>{tip}</title></text>",
                (area.left + area.right) / 2.0,
                area.bottom - 7.0,
                escaped(&label(e, i))
            );
        }
        let rows = columns.iter().map(|c| c.1.len()).max().unwrap_or(0);
        width = width.max(columns.len() as f64 * WIDE);
        width = width.max(LETTER * heading.chars().count() as f64 + 40.0);
        top += 80.0 + rows as f64 * HIGH;
    }
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {:.0}\" width=\"{width:.0}\">\n",
        top.max(60.0)
    );
    out.push_str("<style>text{font:14px monospace;fill:currentColor}svg{color:#222}");
    out.push_str(".e,.l{paint-order:stroke;stroke:#fff;stroke-width:4px}");
    out.push_str("@media(prefers-color-scheme:dark){svg{color:#ddd;background:#1b1b1b}");
    out.push_str(".e,.l{stroke:#1b1b1b}}");
    out.push_str("path{fill:none;stroke-width:1.5}.t{font-weight:bold}.l{font-size:11px}");
    let colors = [
        ("gray", "#888888"),
        ("green", "#2f9e44"),
        ("brown", "#b0703c"),
        ("orange", "#e08a00"),
        ("indigo", "#7a7fe0"),
        ("red", "#e03131"),
    ];
    for (name, hex) in colors {
        let _ = write!(out, "path.{name}{{stroke:{hex}}}text.{name}{{fill:{hex}}}");
    }
    out.push_str("path.red{stroke-width:3}</style>\n<defs>\n");
    for (name, hex) in colors {
        let _ = writeln!(
            out,
            "<marker id=\"{name}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" \
             markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L10 5L0 10z\" style=\"fill:{hex}\"/></marker>"
        );
    }
    out.push_str("</defs>\n");
    out.push_str(&body);
    out.push_str("</svg>\n");
    out
}
