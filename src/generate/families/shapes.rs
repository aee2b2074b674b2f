//! The parts of the families of C tests: shapes of cycles, and ways to make an access.

use super::super::edge::{Order, RmwOp};
use super::super::emit::{Made, Operation};

/// The shapes with two threads, with places for the annotation of each access and for the order between two
/// accesses.
const SHAPES: [&str; 6] = [
    "<WW><w><w> Rfe <RR><r><r> Fre",
    "<WR><w><r> Fre <WR><w><r> Fre",
    "<RW><r><w> Rfe <RW><r><w> Rfe",
    "<WW><w><w> Rfe <RW><r><w> Coe",
    "<WW><w><w> Coe <WR><w><r> Fre",
    "<WW><w><w> Coe <WW><w><w> Coe",
];

/// Annotations of writes and reads.
const STRENGTHS: [(&str, &str); 3] = [("Rlx", "Rlx"), ("Rel", "Acq"), ("Sc", "Sc")];

/// The order between a write and a write, a read and a read, a read and a write, a write and a read: none,
/// one fence everywhere, or the weakest fence that has an effect there.
const BETWEEN: [[&str; 4]; 4] = [
    ["PodWW", "PodRR", "PodRW", "PodWR"],
    ["FenceScdWW", "FenceScdRR", "FenceScdRW", "FenceScdWR"],
    ["FenceARdWW", "FenceARdRR", "FenceARdRW", "FenceARdWR"],
    ["FenceReldWW", "FenceAcqdRR", "FenceAcqdRW", "FenceScdWR"],
];

pub fn shapes() -> Vec<String> {
    let mut out = Vec::new();
    for shape in SHAPES {
        for (w, r) in STRENGTHS {
            for [ww, rr, rw, wr] in BETWEEN {
                let edges = shape.replace("<WW>", ww).replace("<RR>", rr);
                let edges = edges.replace("<RW>", rw).replace("<WR>", wr);
                out.push(edges.replace("<w>", w).replace("<r>", r));
            }
        }
    }
    // The load of a pair of dependent accesses, too.
    for (w, r) in STRENGTHS {
        out.push(format!("DpDatadW{r}{w} Rfe DpCtrldW{r}{w} Rfe"));
        out.push(format!("PodWW{w}{w} Rfe DpAddrdR{r}{r} Fre"));
    }
    out
}

/// Plain accesses that are kept apart by a flag: who finds it set accesses what was written
/// before it was set, and nobody else does. So there is no race where the flag orders them.
pub fn guarded() -> Vec<String> {
    let mut out = Vec::new();
    for (w, r) in STRENGTHS {
        for (release, acquire) in [("Pod", ""), ("FenceReld", "FenceAcq"), ("FenceScd", "FenceSc")]
        {
            let (before, after) = (release, acquire);
            let (w, r) = (w, r);
            out.push(format!("{before}WWNa{w} Rfe DpCtrldR{r}Na {after} Fre"));
            out.push(format!("{before}WWNa{w} Rfe DpCtrldW{r}Na {after} Coe"));
            out.push(format!("{before}WWNa{w} Rfe DpCtrldW{r}{w} Rfe DpCtrldR{r}Na {after} Fre"));
            out.push(format!("{before}RWNa{w} Rfe DpCtrldW{r}Na {after} Rfe"));
        }
    }
    out
}

pub const ORDERS: [(&str, Order); 5] = [
    ("rlx", Order::Rlx),
    ("acq", Order::Acq),
    ("rel", Order::Rel),
    ("ar", Order::AcqRel),
    ("sc", Order::Sc),
];

/// Every way to make an access that is not a plain load or store.
pub fn ways() -> Vec<(String, Made)> {
    let mut out = Vec::new();
    for (name, op) in Operation::ALL {
        for (o, order) in ORDERS {
            for used in [true, false] {
                let unused = if used { "" } else { "-unused" };
                let name = format!("{}-{o}{unused}", name.replace('_', "-"));
                out.push((name, Made::Rmw { op, order, used }));
            }
        }
    }
    for weak in [false, true] {
        for (s, success) in ORDERS {
            // C23 and C++17 take every order for failure that a load can have.
            for (l, failure) in
                ORDERS.into_iter().filter(|(_, o)| matches!(o, Order::Rlx | Order::Acq | Order::Sc))
            {
                for (what, hits, used) in
                    [("", false, true), ("-hit", true, true), ("-unused", true, false)]
                {
                    let name = if weak { "weak" } else { "strong" };
                    out.push((
                        format!("cas-{name}-{s}-{l}{what}"),
                        Made::Cas { weak, success, failure, hits, used },
                    ));
                }
            }
        }
    }
    out.push(("const".into(), Made::Const));
    out.push(("volatile".into(), Made::Volatile));
    out
}

/// The read-modify-writes of languages and libraries with one order.
pub fn sequential_ways() -> Vec<(&'static str, Made)> {
    let order = Order::Sc;
    let add = Operation::Fetch(RmwOp::Add);
    let (weak, hits, used) = (false, true, true);
    vec![
        ("exchange", Made::Rmw { op: Operation::Exchange, order, used }),
        ("add", Made::Rmw { op: add, order, used }),
        ("cas-hit", Made::Cas { weak, success: order, failure: order, hits, used }),
        ("cas-miss", Made::Miss { order }),
    ]
}

/// A few of them, where every one would be too many.
pub fn few_ways() -> Vec<(String, Made)> {
    let rmw = |op, order, used| Made::Rmw { op, order, used };
    let add = Operation::Fetch(RmwOp::Add);
    let cas = Made::Cas {
        weak: false,
        success: Order::AcqRel,
        failure: Order::Acq,
        hits: false,
        used: true,
    };
    vec![
        ("exchange-ar".into(), rmw(Operation::Exchange, Order::AcqRel, true)),
        ("exchange-rel-unused".into(), rmw(Operation::Exchange, Order::Rel, false)),
        ("fetch-add-sc".into(), rmw(add, Order::Sc, true)),
        ("fetch-add-rlx-unused".into(), rmw(add, Order::Rlx, false)),
        ("cas-strong-ar-acq".into(), cas),
    ]
}
