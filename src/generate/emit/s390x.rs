//! s390x: loads and stores of words, and the instruction that serializes.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, LOOPS, Registers, fences};
use super::super::edge::{Dir, Rmw};
use super::{Asm, From, Writer, Written, threads};
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::S390x,
    atoms: &[],
    fences: fences!["Bcr" "bcr" "bcr 14,r0"],
    deps: &[],
    default_dep: None,
    rmws: &[],
    registers: Registers { prefix: "r", names: &[], first: 2, count: 12 },
    write: threads::<S390x>,
    ..LOOPS
};

pub struct S390x;

impl Writer for S390x {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        if from.is_some() {
            return Err("tests for s390x have no dependencies: they order nothing more");
        }
        match event.dir {
            Dir::R => Self::load(asm, event.loc).map(Some),
            Dir::W => {
                let base = asm.address(event.loc)?;
                line!(asm, "mvhi 0(r", base, "),", event.value);
                Ok(None)
            }
        }
    }

    fn rmw(_: &mut Asm, _: Rmw, _: &Event, _: &Event, _: Option<From>) -> Written {
        Err("updates of memory are not generated for s390x")
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let base = asm.address(loc)?;
        let reg = asm.alloc()?;
        line!(asm, "l r", reg, ",0(r", base, ")");
        Ok(reg)
    }
}
