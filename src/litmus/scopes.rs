//! Where the threads of a test for GPUs lie: which of them share a subgroup, a workgroup, a device.
//!
//! A test says it behind its code as a tree of named levels, as herd writes it:
//! `scopes: (system (device (workgroup P0 P1) (workgroup P2)))`. It does not know what models or
//! instructions make of levels.

use std::fmt::Write;

use super::scan::{Scanner, is_ident};
use litmake_base::diag::{Result, Span, nearest};

/// A level of the tree, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Threads that run in step: a warp, a wave.
    Subgroup,
    /// Threads that share local memory and barriers: a CTA.
    Workgroup,
    /// Workgroups that run together, as PTX has them.
    Cluster,
    /// Threads on the queues of one family, as Vulkan has them.
    QueueFamily,
    /// All threads of a GPU.
    Device,
    /// All devices, and the processors of their host.
    System,
}

impl Level {
    /// Every level, from the narrowest to the widest.
    pub const ALL: [Level; 6] = [
        Level::Subgroup,
        Level::Workgroup,
        Level::Cluster,
        Level::QueueFamily,
        Level::Device,
        Level::System,
    ];

    /// The word that names it in print.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// The words that name it in tests; the first is the one that is printed.
    fn names(self) -> &'static [&'static str] {
        match self {
            Level::Subgroup => &["subgroup", "warp", "wave", "sub_group", "sg"],
            Level::Workgroup => &["workgroup", "cta", "work_group", "wg"],
            Level::Cluster => &["cluster"],
            Level::QueueFamily => &["queuefamily", "qf"],
            Level::Device => &["device", "gpu", "agent", "dv"],
            Level::System => &["system", "sys"],
        }
    }

    /// The level that a word names.
    pub fn named(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|l| l.names().contains(&word))
    }

    /// Whether a thread is alone at this level if its tree leaves the level out. The wider levels then
    /// hold what the next wider one holds.
    fn is_narrow(self) -> bool {
        self <= Level::Cluster
    }
}

/// The number of the group in which a thread is, at each level.
type Groups = [u16; Level::ALL.len()];

/// The groups of all threads. Groups are numbered by their first threads, so that equal trees are equal
/// however they were written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scopes {
    threads: Vec<Groups>,
}

impl Scopes {
    /// The scopes of a test without a tree: each thread is alone in its subgroup and workgroup, and all are
    /// on one device.
    pub fn apart(threads: usize) -> Scopes {
        let group = |thread: usize, level: Level| if level.is_narrow() { thread as u16 } else { 0 };
        let threads = (0..threads).map(|t| Level::ALL.map(|level| group(t, level))).collect();
        Scopes { threads }
    }

    /// Each thread is on a device of its own: nothing but the system has them all.
    pub fn far(threads: usize) -> Scopes {
        let group =
            |thread: usize, level: Level| if level < Level::System { thread as u16 } else { 0 };
        let threads = (0..threads).map(|t| Level::ALL.map(|level| group(t, level))).collect();
        Scopes { threads }
    }

    /// Each thread is in the workgroup and on the device of these numbers.
    pub fn on(places: &[(u16, u16)]) -> Scopes {
        let first =
            |is: &dyn Fn(&(u16, u16)) -> bool| places.iter().position(is).unwrap_or(0) as u16;
        let groups = |(t, place): (usize, &(u16, u16))| {
            Level::ALL.map(|level| match level {
                Level::Subgroup => t as u16,
                Level::Workgroup | Level::Cluster => first(&|o| o == place),
                Level::QueueFamily | Level::Device => first(&|o| o.1 == place.1),
                Level::System => 0,
            })
        };
        Scopes { threads: places.iter().enumerate().map(groups).collect() }.numbered()
    }

    /// How many threads there are.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Whether two threads are in one group of a level.
    pub fn share(&self, level: Level, a: usize, b: usize) -> bool {
        let group = |t: usize| self.threads.get(t).map(|groups| groups[level as usize]);
        a == b || group(a).is_some() && group(a) == group(b)
    }

    /// The groups of these threads, which are then numbered in this order.
    pub fn of(&self, order: &[usize]) -> Scopes {
        let kept = order.iter().filter_map(|t| self.threads.get(*t).copied()).collect();
        Scopes { threads: kept }.numbered()
    }

    fn numbered(mut self) -> Scopes {
        let old = self.threads.clone();
        for (t, groups) in self.threads.iter_mut().enumerate() {
            for (level, group) in groups.iter_mut().enumerate() {
                let first = old.iter().position(|o| o[level] == old[t][level]);
                *group = first.unwrap_or(t) as u16;
            }
        }
        self
    }

    /// Whether a level says no more than its neighbour, so that it need not be written.
    fn is_implied(&self, level: Level) -> bool {
        let at = level as usize;
        self.threads.iter().enumerate().all(|(t, groups)| {
            let implied = match level {
                Level::Subgroup => t as u16,
                Level::System => 0,
                level if level.is_narrow() => groups[at - 1],
                _ => groups[at + 1],
            };
            groups[at] == implied
        })
    }
}

/// The tree, as [`read`] takes it.
impl std::fmt::Display for Scopes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let said = |l: &Level| *l == Level::System || !self.is_implied(*l);
        let levels: Vec<Level> = Level::ALL.into_iter().rev().filter(said).collect();
        let mut out = String::new();
        write_groups(self, &levels, &(0..self.len()).collect::<Vec<_>>(), &mut out);
        f.write_str(&out)
    }
}

fn write_groups(scopes: &Scopes, levels: &[Level], threads: &[usize], out: &mut String) {
    let Some((level, rest)) = levels.split_first() else {
        for (i, thread) in threads.iter().enumerate() {
            let _ = write!(out, "{}P{thread}", if i > 0 { " " } else { "" });
        }
        return;
    };
    let mut left = threads.to_vec();
    let mut first = true;
    while let Some(of) = left.first().copied() {
        let (group, others): (Vec<usize>, Vec<usize>) =
            left.iter().partition(|t| scopes.share(*level, of, **t));
        let _ = write!(out, "{}({} ", if first { "" } else { " " }, level.name());
        write_groups(scopes, rest, &group, out);
        out.push(')');
        (left, first) = (others, false);
    }
}

/// Whether a tree begins here.
pub(crate) fn begins(s: &Scanner) -> bool {
    s.peek_word() == "scopes" && s.rest()[6..].trim_ascii_start().first() == Some(&b':')
}

/// Reads `scopes:` and the tree behind it, and the blanks behind that.
pub(crate) fn read(s: &mut Scanner, threads: usize) -> Result<Scopes> {
    let start = s.pos;
    s.pos += "scopes".len();
    s.blanks()?;
    s.expect(b':', "behind `scopes`")?;
    s.blanks()?;
    let mut reader =
        Reader { found: vec![None; threads], path: [None; Level::ALL.len()], groups: 0 };
    let open = s.pos;
    reader.group(s, None)?;
    let whole = s.span_from(open);
    s.blanks()?;
    // herd's tests close it like a row.
    s.eat(b';');
    s.blanks()?;
    if begins(s) {
        return Err(s.error(s.here(), "a test has one tree of scopes"));
    }
    let missing = reader.found.iter().position(Option::is_none);
    if let Some(t) = missing {
        return Err(s.error(whole, format!("the thread P{t} is in no scope")).help(
            "each thread stands in the tree once, as in `scopes: (device (workgroup P0 P1))`",
        ));
    }
    debug_assert!(start < s.pos, "the word was taken");
    let found: Vec<Groups> = reader.found.into_iter().flatten().collect();
    Ok(Scopes { threads: found }.numbered())
}

/// The places of threads by the heads of their functions (`P0@wg 0, dev 0`), if these say them.
pub(crate) fn heads(s: &Scanner, on: &[Option<super::c::On>]) -> Result<Option<Scopes>> {
    let said: Vec<(u16, u16)> = on.iter().copied().flatten().collect();
    if said.is_empty() {
        return Ok(None);
    }
    if let Some(t) = on.iter().position(Option::is_none) {
        let message = format!("the head of P{t} does not say in which workgroup the thread is");
        return Err(s.error(s.here(), message).help("each thread says it: `P0@wg 0, dev 0 (...)`"));
    }
    Ok(Some(Scopes::on(&said)))
}

struct Reader {
    found: Vec<Option<Groups>>,
    /// The groups around what is read.
    path: [Option<u16>; Level::ALL.len()],
    groups: u16,
}

impl Reader {
    fn group(&mut self, s: &mut Scanner, outer: Option<Level>) -> Result<()> {
        s.expect(b'(', "that opens a scope")?;
        s.blanks()?;
        let start = s.pos;
        let word = s.peek_word();
        s.pos += word.len();
        let span = Span::new(start, s.pos.max(start + 1));
        let Some(level) = Level::named(word) else {
            let known = Level::ALL.map(Level::name).join(", ");
            let all = Level::ALL.iter().flat_map(|l| l.names()).copied();
            let help = match nearest(word, all) {
                Some(near) => format!("did you mean `{near}`? The levels are {known}"),
                None => format!("the levels are {known}"),
            };
            return Err(s.error(span, format!("`{word}` is no level of scopes")).help(help));
        };
        if let Some(outer) = outer.filter(|outer| *outer <= level) {
            let message = format!("a {} cannot be inside a {}", level.name(), outer.name());
            let names = Level::ALL.map(Level::name).join(", ");
            return Err(s.error(span, message).help(format!("from narrow to wide: {names}")));
        }
        // Numbers below those are for threads that are alone.
        self.groups += 1;
        let of_threads = self.found.len() as u16;
        self.path[level as usize] = Some(of_threads.saturating_add(self.groups));
        s.blanks()?;
        while !s.eat(b')') {
            match s.peek() {
                Some(b'(') => self.group(s, Some(level))?,
                Some(b) if is_ident(b) => self.thread(s)?,
                _ => return Err(s.expected("a thread such as `P0`, `(` or `)`")),
            }
            s.blanks()?;
        }
        self.path[level as usize] = None;
        Ok(())
    }

    fn thread(&mut self, s: &mut Scanner) -> Result<()> {
        let start = s.pos;
        let word = s.peek_word();
        s.pos += word.len();
        let span = s.span_from(start);
        // herd takes `P0` and `0`.
        let number = word.strip_prefix('P').unwrap_or(word).parse::<usize>();
        let Ok(thread) = number else {
            return Err(s.error(span, format!("`{word}` is no thread")).help("write `P0`"));
        };
        let threads = self.found.len();
        let Some(place) = self.found.get_mut(thread) else {
            return Err(super::no_such_thread(s.source, span, thread, threads));
        };
        if place.is_some() {
            let message = format!("the thread P{thread} stands in the tree twice");
            return Err(s.error(span, message));
        }
        let mut groups = [0; Level::ALL.len()];
        for level in Level::ALL {
            let at = level as usize;
            let alone = if at == 0 { thread as u16 } else { groups[at - 1] };
            groups[at] = self.path[at].unwrap_or(alone);
        }
        for level in Level::ALL.into_iter().rev().filter(|l| !l.is_narrow()) {
            let at = level as usize;
            let all = groups.get(at + 1).copied().unwrap_or(0);
            groups[at] = self.path[at].unwrap_or(all);
        }
        *place = Some(groups);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::Comments;
    use super::*;
    use litmake_base::diag::Source;

    fn tree(text: &str, threads: usize) -> std::result::Result<Scopes, String> {
        let source = Source::new("t", text);
        let mut s = Scanner::new(&source, 0, Comments::All);
        assert!(begins(&s), "{text}");
        read(&mut s, threads).map_err(|e| e.to_string())
    }

    fn good(text: &str, threads: usize) -> Scopes {
        tree(text, threads).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn levels_that_are_left_out_follow_their_neighbours() {
        let scopes = good("scopes: (sys (gpu (cta P0 P1) (cta P2)) (gpu (cta P3)))", 4);
        let share = |level, a, b| scopes.share(level, a, b);
        assert!(share(Level::Workgroup, 0, 1) && !share(Level::Workgroup, 1, 2));
        assert!(!share(Level::Subgroup, 0, 1), "no subgroup is named: each thread is alone");
        assert!(share(Level::Cluster, 0, 1) && !share(Level::Cluster, 0, 2), "as the workgroup");
        assert!(share(Level::Device, 0, 2) && !share(Level::Device, 0, 3));
        assert!(share(Level::QueueFamily, 0, 2) && !share(Level::QueueFamily, 2, 3));
        assert!(share(Level::System, 0, 3));
    }

    #[test]
    fn without_a_tree_threads_are_alone_on_one_device() {
        let apart = Scopes::apart(3);
        assert_eq!(apart, good("scopes: (system (device P0 P1 P2))", 3));
        assert!(!apart.share(Level::Workgroup, 0, 1) && apart.share(Level::Device, 0, 2));
        assert_eq!(Scopes::far(2), good("scopes: (system (device P0) (device P1))", 2));
    }

    #[test]
    fn a_tree_is_printed_as_it_is_read() {
        for text in [
            "(system P0 P1)",
            "(system (workgroup P0 P1) (workgroup P2))",
            "(system (device (workgroup P0 P2) (workgroup P1)) (device (workgroup P3)))",
            "(system (queuefamily (workgroup (subgroup P0 P1) (subgroup P2))) (queuefamily \
             (workgroup (subgroup P3))))",
        ] {
            let threads = text.matches('P').count();
            let scopes = good(&format!("scopes: {text}"), threads);
            assert_eq!(scopes.to_string(), text);
        }
        let (a, b) = ("scopes: (wg (sg 1) (sg 0))", "scopes : (device (cta P0 P1));");
        assert_eq!(good(a, 2), good(b, 2), "the order in which groups are written says nothing");
    }

    #[test]
    fn threads_can_be_taken_out() {
        let scopes = good("scopes: (system (cta P0) (cta P1 P2))", 3);
        assert_eq!(scopes.of(&[1, 2]), good("scopes: (cta P0 P1)", 2));
        assert_eq!(scopes.of(&[2, 0]), Scopes::apart(2));
    }

    #[test]
    fn what_is_no_tree_is_refused_with_its_place() {
        for (text, why) in [
            ("scopes: (cta P0)", "P1 is in no scope"),
            ("scopes: (cta P0 P1 P0)", "twice"),
            ("scopes: (cta P0 P1 P2)", "no thread P2"),
            ("scopes: (cta (gpu P0 P1))", "cannot be inside"),
            ("scopes: (cta (cta P0 P1))", "cannot be inside"),
            ("scopes: (planet P0 P1)", "no level"),
            ("scopes: (cta P0 P1", "expected"),
            ("scopes: P0", "expected"),
            ("scopes: (cta x P0 P1)", "no thread"),
        ] {
            let e = tree(text, 2).expect_err(text);
            assert!(e.contains(why), "{text}: {e}");
        }
    }
}
