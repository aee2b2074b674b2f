//! Where C's atomic operations take memory orders, and which ones. It does not know what they mean.

/// The operation that an order belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of a read: it may acquire.
    Load,
    /// Of a write: it may release.
    Store,
    /// Of a read-modify-write: it may acquire and release.
    Both,
    /// Of a fence, which is never relaxed.
    Fence,
}

impl Kind {
    /// The orders that can stand there, the weakest first, without `memory_order_`.
    pub fn orders(self) -> &'static [&'static str] {
        match self {
            Kind::Load => &["relaxed", "acquire", "seq_cst"],
            Kind::Store => &["relaxed", "release", "seq_cst"],
            Kind::Both => &["relaxed", "acquire", "release", "acq_rel", "seq_cst"],
            Kind::Fence => &["acquire", "release", "acq_rel", "seq_cst"],
        }
    }
}

/// Whether one order promises all that another does.
pub fn at_least(strong: &str, weak: &str) -> bool {
    strong == weak
        || match weak {
            "relaxed" => true,
            "consume" => matches!(strong, "acquire" | "acq_rel" | "seq_cst"),
            "acquire" | "release" => matches!(strong, "acq_rel" | "seq_cst"),
            "acq_rel" => strong == "seq_cst",
            _ => false,
        }
}

/// An operation's name without `_explicit`, and what its order arguments are for, in turn; nothing
/// where it has none.
pub fn orders(name: &str) -> Option<(&str, &'static [Kind])> {
    let core = name.strip_suffix("_explicit").unwrap_or(name);
    let kinds: &[Kind] = match core {
        "atomic_load" => &[Kind::Load],
        "atomic_store" => &[Kind::Store],
        "atomic_thread_fence" => &[Kind::Fence],
        "atomic_compare_exchange_strong" | "atomic_compare_exchange_weak" => {
            &[Kind::Both, Kind::Load]
        }
        "atomic_exchange" => &[Kind::Both],
        _ if core.starts_with("atomic_fetch_") => &[Kind::Both],
        _ => return None,
    };
    Some((core, kinds))
}
