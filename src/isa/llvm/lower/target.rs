//! Intrinsics of targets that compilers put for atomic instructions: load-linked and store-conditional pairs, and
//! barriers.
//!
//! Each has the meaning of what C asks of the target by it, which is at most what the target's instruction does. So code with
//! these forbids here nothing that it allows on the target; it may allow more. An intrinsic without such a meaning is refused.

use super::super::types::Type;
use super::compute::{joined, lanes_of};
use super::{Lower, Read};
use crate::microcode::Emit;
use litmake_ops::{Op, Tags, Temp, tag};

/// The meaning of an intrinsic.
enum Does {
    /// A load-linked of so many bytes; `None`: its argument gives the size.
    Load(Tags, Option<u8>),
    /// A load-linked of so many bytes into two registers, the lower half first.
    LoadPair(Tags, u8),
    /// A store-conditional: the indices of the arguments with its value and its address, and its result for
    /// success.
    Store {
        tags: Tags,
        size: Option<u8>,
        value: usize,
        addr: usize,
        ok: u8,
    },
    /// A store-conditional of so many bytes from two registers, the lower half first. 0 is success.
    StorePair(Tags, u8),
    Fence(Tags),
    /// What a thread of ours finds out about itself or its memory.
    Number(u8),
    Nothing,
}

const RELAXED: Tags = tag::C_RLX;
/// Acquiring and releasing exclusives are what sequentially consistent operations are made of.
const ORDERED: Tags = tag::C_SC;

fn does(name: &str, literals: &[&str]) -> Option<Does> {
    let arm = |tags, store| match store {
        true => Does::Store { tags, size: None, value: 0, addr: 1, ok: 0 },
        false => Does::Load(tags, None),
    };
    let word = name.strip_prefix("llvm.")?;
    let base = word.split(".p0").next().unwrap_or(word);
    Some(match base {
        "aarch64.ldxr" | "arm.ldrex" => arm(RELAXED, false),
        "aarch64.ldaxr" | "arm.ldaex" => arm(ORDERED, false),
        "aarch64.stxr" | "arm.strex" => arm(RELAXED, true),
        "aarch64.stlxr" | "arm.stlex" => arm(ORDERED, true),
        "aarch64.clrex" | "arm.clrex" => Does::Nothing,
        // The full barrier, between processors that share memory or of the whole system.
        "arm.dmb" | "aarch64.dmb" if matches!(literals.first(), Some(&"11" | &"15")) => {
            Does::Fence(tag::C_SC)
        }
        "ppc.sync" => Does::Fence(tag::C_SC),
        "ppc.lwsync" => Does::Fence(tag::C_ACQ_REL),
        "arm.ldrexd" => Does::LoadPair(RELAXED, 8),
        "arm.ldaexd" => Does::LoadPair(ORDERED, 8),
        "arm.strexd" => Does::StorePair(RELAXED, 8),
        "arm.stlexd" => Does::StorePair(ORDERED, 8),
        "aarch64.ldxp" => Does::LoadPair(RELAXED, 16),
        "aarch64.ldaxp" => Does::LoadPair(ORDERED, 16),
        "aarch64.stxp" => Does::StorePair(RELAXED, 16),
        "aarch64.stlxp" => Does::StorePair(ORDERED, 16),
        // Nothing behind it comes before the load whose value it is given.
        _ if base.starts_with("ppc.cfence") => Does::Fence(tag::C_ACQ),
        // Our locations are neither in the memory of a workgroup nor in that of a thread.
        "amdgcn.is.shared" | "amdgcn.is.private" => Does::Number(0),
        "amdgcn.workitem.id.x" | "amdgcn.workitem.id.y" | "amdgcn.workitem.id.z" => Does::Number(0),
        _ => {
            let (load, size) = match base {
                "ppc.lbarx" => (true, 1),
                "ppc.lharx" => (true, 2),
                "ppc.lwarx" => (true, 4),
                "ppc.ldarx" => (true, 8),
                "hexagon.L2.loadw.locked" => (true, 4),
                "hexagon.L4.loadd.locked" => (true, 8),
                "hexagon.S2.storew.locked" => (false, 4),
                "hexagon.S4.stored.locked" => (false, 8),
                "ppc.stbcx" => (false, 1),
                "ppc.sthcx" => (false, 2),
                "ppc.stwcx" => (false, 4),
                "ppc.stdcx" => (false, 8),
                _ => return None,
            };
            match load {
                true => Does::Load(RELAXED, Some(size)),
                false => Does::Store { tags: RELAXED, size: Some(size), value: 1, addr: 0, ok: 1 },
            }
        }
    })
}

/// The bytes that the name of an older release's intrinsic says: `llvm.arm.ldrex.p0i32`.
fn suffix(name: &str) -> Option<u8> {
    let (_, bits) = name.rsplit_once(".p0i")?;
    bits.parse::<u8>().ok().map(|bits| bits / 8)
}

impl Lower<'_> {
    /// The result of an intrinsic of a target; `None` if the name is of none.
    pub(super) fn of_target(
        &mut self,
        name: &str,
        args: &[Vec<Temp>],
        literals: &[&str],
    ) -> Read<Option<Vec<Temp>>> {
        let arg = |i: usize| match args.get(i).map(Vec::as_slice) {
            Some([one]) => Ok(*one),
            _ => Err(format!("unsupported: these arguments of `{name}`")),
        };
        let sized = |size: Option<u8>, element: Option<u8>| {
            size.or(element)
                .or_else(|| suffix(name))
                .filter(|size| matches!(size, 1 | 2 | 4 | 8))
                .ok_or_else(|| format!("unsupported: `{name}` of unknown size"))
        };
        let Some(does) = does(name, literals) else { return Ok(None) };
        let store = |e: &mut Emit, tags: Tags, size, [src, addr]: [Temp; 2], ok| {
            let (status, tags) = (e.temp(), tags | tag::C_A | tag::EX);
            let (status_dep, same_size, fail) = (false, false, 1 - ok);
            e.op(Op::StoreEx { status, addr, src, size, tags, ok, fail, status_dep, same_size });
            vec![status]
        };
        Ok(Some(match does {
            Does::Nothing => Vec::new(),
            Does::Number(n) => vec![self.e.int(n.into())],
            Does::LoadPair(tags, size) => {
                let whole = self.e.load(arg(0)?, size, tags | tag::C_A | tag::EX);
                lanes_of(&mut self.e, whole, &Type::Vector(2, Type::Int(4 * size).into()))
            }
            Does::StorePair(tags, size) => {
                let whole = joined(&mut self.e, &[arg(0)?, arg(1)?], 4 * size)?;
                store(&mut self.e, tags, size, [whole, arg(2)?], 0)
            }
            Does::Fence(tags) => {
                self.e.op(Op::Fence { tags });
                Vec::new()
            }
            Does::Load(tags, size) => {
                let size = sized(size, self.element)?;
                vec![self.e.load(arg(0)?, size, tags | tag::C_A | tag::EX)]
            }
            Does::Store { tags, size, value, addr, ok } => {
                let size = sized(size, self.element)?;
                store(&mut self.e, tags, size, [arg(value)?, arg(addr)?], ok)
            }
        }))
    }
}
