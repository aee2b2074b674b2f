//! Makes every small program for GPUs, up to symmetry: relaxed loads and stores, and with these
//! read-modify-writes, acquire and release accesses, and fences.
//!
//! Such a test observes every outcome, and a caller with a model decides which outcomes are
//! forbidden. It does not know models, nor how the tests run.

use std::fmt::Write;
use std::ops::ControlFlow;

use litmake_base::diag::{Result, Source};
use litmake_generate::edge::{Atom, Dir, Order};
use litmake_generate::exhaustive::{self, Access, Between, Bounds, Program};
use litmake_litmus::{self as litmus, Test};

/// The limits on programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The largest number of accesses in a program.
    pub events: usize,
    /// The largest number of special features in a program: read-modify-writes, memory orders and
    /// fences. Programs with special features have one access less.
    pub special: usize,
}

impl Default for Size {
    /// A size that a device can run in minutes: 511 programs of loads and stores, and some thousand
    /// with special features.
    fn default() -> Size {
        Size { events: 5, special: 1 }
    }
}

/// The largest size of a suite; each further step makes ten times as many programs.
pub const MAX: Size = Size { events: 6, special: 4 };

/// The info line of tests that access a location through two addresses, which a compiler cannot
/// recognise as equal.
pub const VIEWS: &str = "Views";

const LOCATIONS: [&str; 2] = ["x", "y"];
/// As many threads as run on GPUs.
const THREADS: usize = 4;

/// The programs up to a size, smaller ones first.
pub fn tests(size: Size) -> Result<Vec<Test>> {
    let mut out = Vec::new();
    each(size, &mut |test| out.push(test))?;
    Ok(out)
}

/// Calls `take` for each program up to a size, smaller ones first. Large sizes have so many that they
/// do not all fit into memory.
pub fn each(size: Size, take: &mut dyn FnMut(Test)) -> Result<()> {
    for events in 2..=size.events {
        for special in 0..=size.special {
            if special > 0 && events == size.events && size.events > 2 {
                continue;
            }
            of(events, special, take)?;
        }
    }
    Ok(())
}

/// The programs with exactly this number of accesses and of special features.
fn of(events: usize, special: usize, take: &mut dyn FnMut(Test)) -> Result<()> {
    let atoms = [Order::Rlx, Order::Acq, Order::Rel, Order::AcqRel];
    let mut bounds = Bounds::new(THREADS, events, LOCATIONS.len());
    if special > 0 {
        bounds.atoms = atoms.map(|o| Some(Atom::Order(o))).to_vec();
        bounds.between = vec![Between::Nothing, Between::Fence];
        bounds.rmws = true;
    }
    let mut failed = Ok(());
    let _ = exhaustive::each(&bounds, events, special, &mut |program| {
        if !tells(program) {
            return ControlFlow::Continue(());
        }
        match litmus::read(&Source::new(name(program), text(program))) {
            Ok(test) => take(test),
            Err(e) => {
                failed = Err(e);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    failed
}

fn order(access: &Access) -> Order {
    match access.atom {
        Some(Atom::Order(order)) => order,
        _ => Order::Rlx,
    }
}

/// Whether a program is worth testing: its accesses can have their orders, each order has an
/// effect, and a model could forbid something.
fn tells(program: &Program) -> bool {
    let fits = |thread: &Vec<Access>| {
        thread.iter().enumerate().all(|(i, access)| {
            let acquires = access.dir == Dir::R || access.rmw;
            let releases = access.dir == Dir::W || access.rmw;
            let (first, last) = (i == 0, i + 1 == thread.len());
            match order(access) {
                Order::Rlx => true,
                Order::Acq => acquires && !last,
                Order::Rel => releases && !first,
                Order::AcqRel => access.rmw && !first && !last,
                _ => false,
            }
        })
    };
    let accesses = || program.iter().flatten();
    // Every outcome of two plain accesses in two threads is one of an interleaving.
    program.iter().all(fits) && (accesses().count() > 2 || accesses().any(|a| a.rmw))
}

/// A name from directions, locations and orders: `WxRx+Wx`, `Wx-f-Wy+Ryacq-Rx`. `X` is an exchange,
/// and `A` adds 0.
fn name(program: &Program) -> String {
    let mut out = String::new();
    for (t, thread) in program.iter().enumerate() {
        if t > 0 {
            out.push('+');
        }
        for access in thread {
            out.push(match (access.dir, access.rmw) {
                (Dir::W, false) => 'W',
                (Dir::W, true) => 'X',
                (Dir::R, false) => 'R',
                (Dir::R, true) => 'A',
            });
            out += LOCATIONS[usize::from(access.loc)];
            out += match order(access) {
                Order::Acq => "acq",
                Order::Rel => "rel",
                Order::AcqRel => "acqrel",
                _ => "",
            };
            if access.between == Between::Fence {
                out += "-f-";
            }
        }
    }
    out
}

/// Whether some thread accesses a location more than once.
fn comes_back(program: &Program) -> bool {
    program.iter().any(|thread| {
        let twice = |(i, access): (usize, &Access)| thread[..i].iter().any(|a| a.loc == access.loc);
        thread.iter().enumerate().any(twice)
    })
}

/// The program as a C test that observes all reads and all final values.
fn text(program: &Program) -> String {
    let places = program.iter().flatten().map(|a| usize::from(a.loc) + 1).max().unwrap_or(0);
    let inits: Vec<String> = LOCATIONS[..places].iter().map(|x| format!("{x}=0;")).collect();
    let mut observed: Vec<String> = LOCATIONS[..places].iter().map(|x| format!("{x};")).collect();
    let views = if comes_back(program) { format!("{VIEWS}=2\n") } else { String::new() };
    let mut out = format!("C {}\n{views}{{ {} }}\n", name(program), inits.join(" "));
    let (mut registers, mut values) = (0, [0; LOCATIONS.len()]);
    for (t, thread) in program.iter().enumerate() {
        let params: Vec<String> = (0..places)
            .filter(|x| thread.iter().any(|a| usize::from(a.loc) == *x))
            .map(|x| format!("atomic_int* {}", LOCATIONS[x]))
            .collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\nP{t}({}) {{", params.join(", "));
        for access in thread {
            let place = usize::from(access.loc);
            let x = LOCATIONS[place];
            let order = match order(access) {
                Order::Acq => "memory_order_acquire",
                Order::Rel => "memory_order_release",
                Order::AcqRel => "memory_order_acq_rel",
                _ => "memory_order_relaxed",
            };
            if access.dir == Dir::W {
                values[place] += 1;
            }
            let v = values[place];
            let call = match (access.dir, access.rmw) {
                (Dir::W, false) => format!("atomic_store_explicit({x}, {v}, {order})"),
                (Dir::W, true) => format!("atomic_exchange_explicit({x}, {v}, {order})"),
                (Dir::R, false) => format!("atomic_load_explicit({x}, {order})"),
                (Dir::R, true) => format!("atomic_fetch_add_explicit({x}, 0, {order})"),
            };
            // The value that an exchange reads is observed, too.
            let _ = match access.dir == Dir::R || access.rmw {
                true => writeln!(out, "  int r{registers} = {call};"),
                false => writeln!(out, "  {call};"),
            };
            if access.dir == Dir::R || access.rmw {
                observed.push(format!("{t}:r{registers};"));
                registers += 1;
            }
            if access.between == Between::Fence {
                out += "  atomic_thread_fence(memory_order_acq_rel);\n";
            }
        }
        out += "}\n";
    }
    out + &format!("\nlocations [{}]\nforall (true)\n", observed.join(" "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(size: Size) -> Vec<String> {
        tests(size).unwrap().into_iter().map(|t| t.name).collect()
    }

    #[test]
    fn loads_and_stores_are_those_of_the_generator_and_all_distinct() {
        let all = names(Size { events: 5, special: 0 });
        let distinct: BTreeSet<&String> = all.iter().collect();
        // 10, 62 and 439 programs of three, four and five accesses, on one or two locations, in up
        // to four threads.
        assert_eq!((all.len(), distinct.len()), (511, 511));
        for name in ["RxRx+Wx", "WxWy+RyRx", "WxRy+WyRx"] {
            let same = |n: &&String| {
                let threads: BTreeSet<&str> = n.split('+').collect();
                threads == name.split('+').collect()
            };
            assert!(all.iter().any(|n| same(&n)), "{name}");
        }
    }

    #[test]
    fn special_programs_are_distinct_and_no_order_is_in_vain() {
        let all = tests(Size { events: 5, special: 2 }).unwrap();
        let distinct: BTreeSet<&String> = all.iter().map(|t| &t.name).collect();
        assert_eq!(distinct.len(), all.len());
        let has = |part: &str| all.iter().any(|t| t.name.contains(part));
        assert!(has("X") && has("A") && has("acq") && has("rel") && has("-f-"));
        // Message passing, with the threads in either order.
        assert!(has("WxWyrel+RyacqRx") || has("RyacqRx+WxWyrel") || has("RxacqRy+WyWxrel"));
        for name in distinct {
            for thread in name.split('+') {
                assert!(!thread.ends_with("acq") && !thread.ends_with("-f-"), "{name}");
            }
        }
        // Two exchanges of one location, both of which read the initial value.
        assert!(has("Xx+Xx"));
    }

    #[test]
    fn a_program_shows_all_that_it_reads() {
        let all = tests(Size { events: 4, special: 1 }).unwrap();
        let test = all.iter().find(|t| t.name == "Xx+RxRx" || t.name == "RxRx+Xx").unwrap();
        assert_eq!(test.locations.len(), 4);
    }
}
