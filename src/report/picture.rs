//! Drawings of executions: text for Graphviz, and SVG laid out here.
//!
//! It knows executions as `sim::witness` gives them, and neither models nor tests.

use crate::sim::witness::Execution;
use std::fmt::Write;

struct Line {
    from: usize,
    to: usize,
    label: String,
    color: &'static str,
}

/// What is drawn between events: the cycle of a failed check over everything else.
fn lines(e: &Execution) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    let mut add = |pairs: &[(usize, usize)], label: &str, color| {
        for (from, to) in pairs {
            out.push(Line { from: *from, to: *to, label: label.to_string(), color });
        }
    };
    add(&e.po, "po", "gray");
    add(&e.rf, "rf", "green");
    add(&e.co, "co", "brown");
    add(&e.fr, "fr", "orange");
    for (name, pairs) in &e.others {
        add(pairs, name, "indigo");
    }
    for edge in e.failures.first().iter().flat_map(|f| f.chains.iter().flatten()) {
        let base = edge.label.split(" (").next().unwrap_or("");
        out.retain(|l| {
            let same = l.label == base || base.trim_end_matches(['e', 'i']) == l.label;
            !(l.from == edge.from && l.to == edge.to && same)
        });
        out.push(Line { from: edge.from, to: edge.to, label: edge.label.clone(), color: "red" });
    }
    out
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
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// One picture: a row of threads an execution, events downwards.
pub fn svg(name: &str, executions: &[Execution]) -> String {
    const WIDE: usize = 260;
    const HIGH: usize = 80;
    let mut body = String::new();
    let (mut top, mut width) = (0, 400);
    for e in executions {
        let columns = columns(e);
        let _ = writeln!(
            body,
            "<text class=\"t\" x=\"20\" y=\"{}\">{}</text>",
            top + 24,
            escaped(&title(name, e))
        );
        let mut at = vec![(0, 0); e.events.len()];
        for (k, (head, events)) in columns.iter().enumerate() {
            let x = 130 + k * WIDE;
            let _ = writeln!(
                body,
                "<text class=\"t\" text-anchor=\"middle\" x=\"{x}\" y=\"{}\">{head}</text>",
                top + 56
            );
            for (row, i) in events.iter().enumerate() {
                at[*i] = (x, top + 90 + row * HIGH);
            }
        }
        for (n, l) in lines(e).iter().enumerate() {
            let ((x1, y1), (x2, y2)) = (at[l.from], at[l.to]);
            // Edges between the same two events bend differently.
            let bend = 24 + n % 5 * 14;
            let (mx, my) = if x1 == x2 {
                ((x1 + x2) / 2 + bend, (y1 + y2) / 2)
            } else {
                ((x1 + x2) / 2, (y1 + y2) / 2 + bend - 38)
            };
            let (a, b) = if y1 < y2 { (y1 + 8, y2 - 16) } else { (y1 - 16, y2 + 8) };
            let color = l.color;
            let _ = writeln!(
                body,
                "<path class=\"{color}\" marker-end=\"url(#{color})\" d=\"M{x1} {a} Q{mx} {my} {x2} {b}\"/>\n\
                 <text class=\"l {color}\" x=\"{mx}\" y=\"{my}\">{}</text>",
                escaped(&l.label)
            );
        }
        for (i, (x, y)) in at.iter().enumerate() {
            let tip = escaped(&e.events[i].instruction);
            let _ = writeln!(
                body,
                "<text class=\"e\" text-anchor=\"middle\" x=\"{x}\" y=\"{y}\">{}<title>{tip}</title></text>",
                escaped(&label(e, i))
            );
        }
        let rows = columns.iter().map(|c| c.1.len()).max().unwrap_or(0);
        width = width.max(columns.len() * WIDE + 60);
        top += 90 + rows * HIGH;
    }
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" width=\"{width}\">\n",
        top.max(60)
    );
    out.push_str("<style>text{font:14px monospace;fill:currentColor}svg{color:#222}");
    out.push_str("@media(prefers-color-scheme:dark){svg{color:#ddd;background:#1b1b1b}}");
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
