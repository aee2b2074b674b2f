//! Draws executions, as text for Graphviz and as SVG with its own layout.
//!
//! It knows executions in the form for people, and neither models nor tests.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write;

use super::page::escaped;
use litmake_litmus::execution::Execution;

/// An edge, or several between the same two events.
struct Line {
    from: usize,
    to: usize,
    label: String,
    color: &'static str,
}

impl Line {
    /// Whether the line is drawn thick: it is part of the forbidden cycle or of the weak one.
    fn is_marked(&self) -> bool {
        ["red", "blue"].contains(&self.color)
    }
}

/// The lines between events: the cycle of a failed check takes precedence over the other relations.
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
    // The cycle that no interleaving has.
    for (from, to, label) in turns(e).into_iter().flatten() {
        add(from, to, label, "blue");
    }
    // The cycle is red, and its labels already name the relations that it is made of.
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

/// For an allowed execution, the shortest cycle of program order, reads-from, coherence and
/// from-reads. No interleaving has such a cycle, so it shows why the execution is weak.
fn turns(e: &Execution) -> Option<Vec<(usize, usize, &'static str)>> {
    if !e.failures.is_empty() {
        return None;
    }
    let mut steps: Vec<(usize, usize, &'static str)> = Vec::new();
    for (name, pairs) in [("po", &e.po), ("rf", &e.rf), ("co", &e.co), ("fr", &e.fr)] {
        steps.extend(pairs.iter().map(|(a, b)| (*a, *b, name)));
    }
    let cycle_at = |start: usize| {
        // The step by which each event was first reached.
        let mut by: Vec<Option<usize>> = vec![None; e.events.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for (i, (_, to, _)) in steps.iter().enumerate().filter(|(_, s)| s.0 == at) {
                if by.get(*to).is_some_and(Option::is_none) {
                    by[*to] = Some(i);
                    queue.push_back(*to);
                }
            }
        }
        let mut cycle = vec![steps[by[start]?]];
        while cycle.last().is_some_and(|s| s.0 != start) {
            cycle.push(steps[by[cycle.last()?.0]?]);
        }
        cycle.reverse();
        Some(cycle)
    };
    (0..e.events.len()).filter_map(cycle_at).min_by_key(Vec::len)
}

/// A description of the thick lines of a picture.
pub fn mark(e: &Execution) -> Option<String> {
    match e.failures.first() {
        Some(f) if f.is_cycle => Some(format!("the cycle that `{}` forbids", f.name)),
        Some(f) => Some(format!("what `{}` forbids", f.name)),
        None => turns(e).map(|_| "a cycle that no interleaving of the threads has".to_string()),
    }
}

/// A picture in words: its events, then its edges.
pub fn words(e: &Execution) -> Vec<String> {
    let place = |i: usize| match e.events[i].thread {
        None => "initially".to_string(),
        Some(t) => format!("in thread {t}"),
    };
    let mut out: Vec<String> =
        (0..e.events.len()).map(|i| format!("{}, {}", label(e, i), place(i))).collect();
    for l in lines(e) {
        let (from, to) = (Execution::letter(l.from), Execution::letter(l.to));
        let thick = if l.is_marked() { ", thick" } else { "" };
        out.push(format!("{from} to {to}: {}{thick}", l.label));
    }
    out
}

/// The pairs that do not follow from two others by transitivity; only these are drawn.
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

/// A digraph for each execution.
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
            let wide = if l.is_marked() { ", penwidth=2" } else { "" };
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

/// Sizes of the picture, in pixels.
const HIGH: f64 = 80.0;
const BOX: f64 = 24.0;
/// The distance between the texts of two columns.
const APART: f64 = 120.0;
/// The width of a letter in the texts of events and of edges, and the height of the latter.
const LETTER: f64 = 8.5;
const SMALL: f64 = 7.3;
const LABEL: f64 = 14.0;
/// The approximate distance between the points of a curve, small enough to hit every text on its
/// way.
const STEP: f64 = 3.0;
/// Every fourth point is enough to see whether two edges overlap.
const FEW: usize = 4;

type Point = (f64, f64);

#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn around((x, y): Point, wide: f64, high: f64) -> Area {
        let (w, h) = (wide / 2.0, high / 2.0);
        Area { left: x - w, right: x + w, top: y - h, bottom: y + h }
    }

    fn middle(&self) -> Point {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }

    fn meets(&self, o: &Area) -> bool {
        self.left < o.right && o.left < self.right && self.top < o.bottom && o.top < self.bottom
    }

    fn holds(&self, (x, y): Point) -> bool {
        self.left < x && x < self.right && self.top < y && y < self.bottom
    }
}

/// A curve between two points, bent towards a third.
#[derive(Clone, Copy, Debug)]
struct Curve {
    from: Point,
    by: Point,
    to: Point,
}

impl Curve {
    fn at(&self, t: f64) -> Point {
        let mix = |a: f64, b: f64, c: f64| {
            (1.0 - t) * (1.0 - t) * a + 2.0 * t * (1.0 - t) * b + t * t * c
        };
        (mix(self.from.0, self.by.0, self.to.0), mix(self.from.1, self.by.1, self.to.1))
    }

    /// The unit vector across the curve.
    fn across(&self, t: f64) -> Point {
        let ((x1, y1), (x2, y2)) = (self.at((t - 0.01).max(0.0)), self.at((t + 0.01).min(1.0)));
        let long = (x2 - x1).hypot(y2 - y1).max(1e-6);
        (-(y2 - y1) / long, (x2 - x1) / long)
    }

    fn points(&self) -> impl Iterator<Item = Point> {
        let long = |a: Point, b: Point| (a.0 - b.0).hypot(a.1 - b.1);
        let way = long(self.from, self.by) + long(self.by, self.to);
        let steps = (way / STEP).clamp(16.0, 600.0) as usize;
        (0..=steps).map(move |i| self.at(i as f64 / steps as f64))
    }

    /// The possible curves between two events, the best-looking first.
    fn between(a: &Area, b: &Area, high: f64) -> Vec<Curve> {
        let ((x1, y1), (x2, y2)) = (a.middle(), b.middle());
        let mut out = Vec::new();
        let sizes = [24.0, 48.0, 76.0, 110.0, 150.0, 200.0, 260.0, 330.0];
        let bends: Vec<f64> =
            [0.0].into_iter().chain(sizes.into_iter().flat_map(|s| [-s, s])).collect();
        if (x1 - x2).abs() > 1.0 {
            let right = x2 > x1;
            let (from, to) = if right { (a.right, b.left) } else { (a.left, b.right) };
            for bend in &bends {
                for (part, end) in [
                    (0.5, 0.0),
                    (0.3, 0.0),
                    (0.7, 0.0),
                    (0.5, -7.0),
                    (0.5, 7.0),
                    (0.1, 0.0),
                    (0.9, 0.0),
                ] {
                    let by = from + (to - from) * part;
                    out.push(Curve {
                        from: (from, y1 + end),
                        by: (by, y1 + (y2 - y1) * part + bend),
                        to: (to, y2 + end),
                    });
                }
            }
            return out;
        }
        let rows = (y2 - y1).abs() / high;
        if rows > 0.5 && rows < 1.5 {
            let (from, to) = if y2 > y1 { (a.bottom, b.top) } else { (a.top, b.bottom) };
            for aside in [0.0, -18.0, 18.0, -34.0, 34.0] {
                let x = x1 + aside;
                out.push(Curve {
                    from: (x, from),
                    by: (x + aside, (from + to) / 2.0),
                    to: (x, to),
                });
            }
        }
        // Around the outside; a loop if both ends are the same event.
        let apart = if rows < 0.5 { 7.0 } else { 0.0 };
        for (right, bend) in bends.iter().flat_map(|bend| [(true, bend), (false, bend)]) {
            let out_by = 34.0 + 22.0 * rows + bend.abs();
            let edge = |o: &Area| if right { o.right } else { o.left };
            let far = match right {
                true => a.right.max(b.right) + out_by,
                false => a.left.min(b.left) - out_by,
            };
            out.push(Curve {
                from: (edge(a), y1 - apart),
                by: (far, (y1 + y2) / 2.0),
                to: (edge(b), y2 + apart),
            });
        }
        out
    }

    /// The possible places of the text beside the curve, the best-looking first.
    fn places(&self, wide: f64) -> impl Iterator<Item = Area> {
        let along = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82];
        let sides = [-1.0, 1.0];
        along.into_iter().flat_map(move |t| sides.map(|side| (t, side))).flat_map(
            move |(t, side)| {
                let ((x, y), (nx, ny)) = (self.at(t), self.across(t));
                [3.0, 8.0, 16.0, 28.0].map(|gap| {
                    let off = side * (nx.abs() * wide / 2.0 + ny.abs() * LABEL / 2.0 + gap);
                    Area::around((x + nx * off, y + ny * off), wide, LABEL)
                })
            },
        )
    }
}

/// An edge with the places of its curve and its text.
struct Drawn {
    line: Line,
    curve: Curve,
    points: Vec<Point>,
    text: Area,
}

/// An execution laid out.
struct Layout {
    /// The heading of each thread, and its place.
    heads: Vec<(String, Area)>,
    events: Vec<Area>,
    edges: Vec<Drawn>,
    area: Area,
    /// The distance between rows.
    high: f64,
}

impl Layout {
    /// Places threads side by side and events from top to bottom. Each edge takes the first curve
    /// that crosses no text, and its own text goes where no edge crosses it.
    fn new(e: &Execution, top: f64) -> Layout {
        // Tries larger distances until nothing overlaps.
        let roomy = [1.0, 1.4, 2.0, 2.8].into_iter().map(|room| Layout::with_room(e, top, room));
        let mut last = None;
        for layout in roomy {
            if layout.struck() == 0 {
                return layout;
            }
            last = Some(layout);
        }
        last.expect("there is more than one size")
    }

    /// The number of texts that an edge or another text crosses.
    fn struck(&self) -> usize {
        let labels = self.edges.iter().map(|d| &d.text);
        let heads = self.heads.iter().map(|h| &h.1);
        let texts: Vec<&Area> = self.events.iter().chain(heads).chain(labels).collect();
        let through =
            |d: &Drawn| texts.iter().filter(|t| d.points.iter().any(|p| t.holds(*p))).count();
        let over = |i: usize| texts[..i].iter().filter(|t| t.meets(texts[i])).count();
        let lines: usize = self.edges.iter().map(through).sum();
        lines + (0..texts.len()).map(over).sum::<usize>()
    }

    fn with_room(e: &Execution, top: f64, room: f64) -> Layout {
        let high = HIGH * room;
        let columns = columns(e);
        let lines = lines(e);
        let wide = |i: usize| LETTER * label(e, i).chars().count() as f64 + 10.0;
        let label_wide = |l: &Line| SMALL * l.label.chars().count() as f64 + 4.0;
        let gap = lines.iter().map(label_wide).fold(APART, f64::max).min(220.0) * room + 20.0;
        let mut events = vec![Area::around((0.0, 0.0), 0.0, 0.0); e.events.len()];
        let (mut heads, mut left) = (Vec::new(), 20.0);
        let rows = columns.iter().map(|c| c.1.len()).max().unwrap_or(0);
        for (head, list) in columns {
            let widest = list.iter().map(|i| wide(*i)).fold(80.0, f64::max);
            let x = left + widest / 2.0;
            let head_wide = LETTER * head.chars().count() as f64;
            heads.push((head, Area::around((x, top + 52.0), head_wide, BOX)));
            for (row, i) in list.iter().enumerate() {
                let y = top + 90.0 + row as f64 * high;
                events[*i] = Area::around((x, y), wide(*i), BOX);
            }
            left += widest + gap;
        }
        let area = Area {
            left: 0.0,
            right: (left - gap + 20.0).max(360.0),
            top,
            bottom: top + 70.0 + rows as f64 * high,
        };
        let mut out = Layout { heads, events, edges: Vec::new(), area, high };
        for line in lines {
            let drawn = out.place(line);
            out.area = [&drawn.text].into_iter().fold(out.area, |sum, o| Area {
                left: sum.left.min(o.left - 10.0),
                right: sum.right.max(o.right + 10.0),
                top: sum.top,
                bottom: sum.bottom.max(o.bottom + 10.0),
            });
            for (x, y) in drawn.points.iter().copied() {
                out.area.left = out.area.left.min(x - 10.0);
                out.area.right = out.area.right.max(x + 10.0);
                out.area.bottom = out.area.bottom.max(y + 10.0);
            }
            out.edges.push(drawn);
        }
        out
    }

    fn place(&self, line: Line) -> Drawn {
        let wide = SMALL * line.label.chars().count() as f64 + 4.0;
        let (a, b) = (&self.events[line.from], &self.events[line.to]);
        let heads = self.heads.iter().map(|(_, area)| area);
        let texts =
            || self.events.iter().chain(heads.clone()).chain(self.edges.iter().map(|d| &d.text));
        let mut best: Option<(f64, Curve, Area)> = None;
        for (rank, curve) in Curve::between(a, b, self.high).into_iter().enumerate() {
            // Later curves cost at least their rank.
            if best.as_ref().is_some_and(|(least, _, _)| *least <= rank as f64) {
                break;
            }
            let points: Vec<Point> = curve.points().collect();
            let struck = texts().filter(|t| points.iter().any(|p| t.holds(*p))).count();
            let above = points.iter().filter(|p| p.1 < self.area.top + 34.0).count();
            // Edges that overlap cannot be told apart.
            let near = |p: &Point| {
                self.edges
                    .iter()
                    .flat_map(|d| d.points.iter().step_by(FEW))
                    .any(|q| (p.0 - q.0).abs() + (p.1 - q.1).abs() < 6.0)
            };
            let along = points.iter().step_by(FEW).filter(|p| near(p)).count();
            let cost = 1000.0 * struck as f64
                + 100.0 * above as f64
                + 2.0 * along.saturating_sub(4) as f64
                + rank as f64;
            if best.as_ref().is_some_and(|(least, _, _)| *least <= cost) {
                continue;
            }
            let own = |t: &Area| points.iter().filter(|p| t.holds(**p)).count();
            for (rank, text) in curve.places(wide).enumerate() {
                if best.as_ref().is_some_and(|(least, _, _)| *least <= cost + rank as f64) {
                    break;
                }
                let over = texts().filter(|t| t.meets(&text)).count();
                let through = |d: &&Drawn| d.points.iter().any(|p| text.holds(*p));
                let struck = self.edges.iter().filter(through).count() + own(&text).min(1);
                let above = usize::from(text.top < self.area.top + 34.0);
                let cost = cost + 1000.0 * (over + struck + above) as f64 + rank as f64;
                if best.as_ref().is_none_or(|(least, _, _)| cost < *least) {
                    best = Some((cost, curve, text));
                }
            }
        }
        let (_, curve, text) = best.expect("there is a way between any two events");
        Drawn { line, points: curve.points().collect(), curve, text }
    }

    fn draw(&self, e: &Execution, out: &mut String) {
        for (head, area) in &self.heads {
            let (x, y) = area.middle();
            let y = y + 5.0;
            let _ = writeln!(out, "<text class=\"t\" x=\"{x:.0}\" y=\"{y:.0}\">{head}</text>");
        }
        for Drawn { line, curve, .. } in &self.edges {
            let ((x1, y1), (mx, my), (x2, y2)) = (curve.from, curve.by, curve.to);
            let color = line.color;
            // The head of the arrow, along the end of the curve.
            let (nx, ny) = curve.across(1.0);
            let back =
                |side: f64| (x2 - ny * 9.0 + nx * side * 4.0, y2 + nx * 9.0 + ny * side * 4.0);
            let ((ax, ay), (bx, by)) = (back(1.0), back(-1.0));
            let _ = writeln!(
                out,
                "<path class=\"{color}\" d=\"M{x1:.0} {y1:.0} Q{mx:.0} {my:.0} {x2:.0} {y2:.0}\"/>\
                 <path class=\"h {color}\" d=\"M{x2:.0} {y2:.0}L{ax:.1} {ay:.1}L{bx:.1} {by:.1}z\"/>"
            );
        }
        for Drawn { line, text, .. } in &self.edges {
            let _ = writeln!(
                out,
                "<text class=\"l {}\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
                line.color,
                text.middle().0,
                text.bottom - 3.0,
                escaped(&line.label)
            );
        }
        for (i, area) in self.events.iter().enumerate() {
            let (x, y) = area.middle();
            let tip = escaped(&e.events[i].instruction);
            let _ = writeln!(
                out,
                "<text x=\"{x:.0}\" y=\"{:.0}\">{}<title>{tip}</title></text>",
                y + 5.0,
                escaped(&label(e, i))
            );
        }
    }
}

/// The style of pictures, for light and dark. It affects nothing else on a page. The contrast of
/// texts meets level AA of WCAG.
pub const STYLE: &str = "
.run{--gray:#62666d;--green:#1b7031;--brown:#8a5220;--orange:#955a00;--indigo:#5156c0;--red:#c62828;--blue:#0b4fb8;color:#1b1d21;background:#fff}
@media(prefers-color-scheme:dark){.run{--gray:#a3a8b0;--green:#6fd08a;--brown:#dca678;--orange:#f0b050;--indigo:#aab0ff;--red:#ff8f87;--blue:#8ab4f8;color:#e7e9ec;background:#15171b}}
.run text{font:14px monospace;fill:currentColor;text-anchor:middle}.run .t{font-weight:bold}.run text.n{text-anchor:start;font-weight:bold}
.run text.l{font-size:12px}.run path{fill:none;stroke-width:1.5}.run path.red,.run path.blue{stroke-width:3}.run path.h{stroke:none}
.run .gray{--c:var(--gray)}.run .green{--c:var(--green)}.run .brown{--c:var(--brown)}.run .orange{--c:var(--orange)}
.run .indigo{--c:var(--indigo)}.run .red{--c:var(--red)}.run .blue{--c:var(--blue)}.run path{stroke:var(--c)}.run text.l,.run path.h{fill:var(--c)}
";

/// A picture as a file of its own: executions one below the other, threads side by side, events
/// from top to bottom.
pub fn svg(name: &str, executions: &[Execution]) -> String {
    drawing(name, executions, &format!("<style>{STYLE}</style>\n"))
}

/// The same picture, for a page that contains [`STYLE`].
pub fn inline(name: &str, executions: &[Execution]) -> String {
    drawing(name, executions, "")
}

fn drawing(name: &str, executions: &[Execution], style: &str) -> String {
    let mut body = String::new();
    let mut area = Area { left: 0.0, right: 360.0, top: 0.0, bottom: 0.0 };
    let mut titles = Vec::new();
    for e in executions {
        let layout = Layout::new(e, area.bottom);
        let heading = title(name, e);
        let _ = writeln!(
            body,
            "<text class=\"n\" x=\"20\" y=\"{:.0}\">{}</text>",
            area.bottom + 24.0,
            escaped(&heading)
        );
        layout.draw(e, &mut body);
        let wide = 20.0 + LETTER * heading.chars().count() as f64 + 20.0;
        area.left = area.left.min(layout.area.left);
        area.right = area.right.max(layout.area.right).max(wide);
        area.bottom = layout.area.bottom;
        titles.push(heading);
    }
    let (wide, high) = (area.right - area.left, area.bottom.max(60.0));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"run\" role=\"img\" aria-label=\"{}\" \
         viewBox=\"{:.0} 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\">\n{style}{body}</svg>\n",
        escaped(&titles.join("; ")),
        area.left,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_litmus::execution::{Edge, Event, Failure};

    /// Executions of all shapes: threads of several lengths, and edges between any two events.
    fn some(seed: u64) -> Execution {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % below
        };
        let mut events = Vec::new();
        for thread in 0..2 + next(3) {
            for _ in 0..1 + next(5) {
                let text = ["W(RLX)[x]=1", "R(ACQ)[flag]=2", "F(SC)", "RW(RLX,A)[y]=0->0"][next(4)];
                let thread = (thread > 0).then(|| thread as u16 - 1);
                events.push(Event {
                    thread,
                    text: text.into(),
                    instruction: String::new(),
                    line: 0,
                });
            }
        }
        let n = events.len();
        let po = (1..n).filter(|i| events[*i].thread == events[i - 1].thread).map(|i| (i - 1, i));
        let po = po.collect();
        let mut pairs = |most: usize| -> Vec<(usize, usize)> {
            (0..next(most + 1)).map(|_| (next(n), next(n))).filter(|(a, b)| a != b).collect()
        };
        let (rf, co, fr) = (pairs(4), pairs(3), pairs(2));
        Execution {
            events,
            po,
            rf,
            co,
            fr,
            others: Vec::new(),
            failures: Vec::new(),
            state: Vec::new(),
        }
    }

    #[test]
    fn no_edge_strikes_through_a_text() {
        let bad: Vec<u64> = (0..300).filter(|s| Layout::new(&some(*s), 0.0).struck() > 0).collect();
        assert_eq!(bad, [0u64; 0]);
    }

    fn buffering(failures: Vec<Failure>) -> Execution {
        let event = |thread, text: &str| Event {
            thread: Some(thread),
            text: text.into(),
            instruction: "mov".into(),
            line: 1,
        };
        Execution {
            events: vec![
                event(0, "W[x]=1"),
                event(0, "R[y]=0"),
                event(1, "W[y]=1"),
                event(1, "R[x]=0"),
            ],
            po: vec![(0, 1), (2, 3)],
            rf: Vec::new(),
            co: Vec::new(),
            fr: vec![(1, 2), (3, 0)],
            others: Vec::new(),
            failures,
            state: Vec::new(),
        }
    }

    #[test]
    fn what_is_allowed_and_what_is_forbidden_are_both_marked() {
        let allowed = buffering(Vec::new());
        assert_eq!(lines(&allowed).iter().filter(|l| l.color == "blue").count(), 4);
        assert_eq!(mark(&allowed).unwrap(), "a cycle that no interleaving of the threads has");
        let edges = [(0, 1), (1, 2), (2, 3), (3, 0)].map(|(a, b)| Edge::new(a, b, "sb".into()));
        let forbidden = buffering(vec![Failure {
            name: "sc".into(),
            place: "sc.cat:3".into(),
            chains: vec![edges.to_vec()],
            events: Vec::new(),
            is_cycle: true,
            negated: false,
        }]);
        let red = lines(&forbidden).iter().filter(|l| l.color == "red").count();
        assert_eq!((red, mark(&forbidden).as_deref()), (4, Some("the cycle that `sc` forbids")));
        // An interleaving.
        let mut turns = buffering(Vec::new());
        turns.fr.pop();
        assert_eq!((mark(&turns), lines(&turns).iter().any(Line::is_marked)), (None, false));
    }

    #[test]
    fn a_picture_is_also_said_in_words() {
        let said = words(&buffering(Vec::new()));
        assert_eq!(said[0], "a: W[x]=1, in thread 0");
        assert!(said.contains(&"b to c: fr, thick".to_string()), "{said:?}");
        let picture = svg("<sc>", &[buffering(Vec::new())]);
        assert!(picture.contains("aria-label=\"&lt;sc&gt;:  (allowed)\""), "{picture}");
        assert!(!picture.contains("NaN"), "{picture}");
    }
}
