//! BPF, as llvm-objdump spells it.

use litmake::isa::machine::Decoder;
use litmake::isa::target;
use litmake::litmus::Arch;

pub fn decoder() -> &'static dyn Decoder {
    target::of(Arch::Bpf, false, false, false).expect("code of BPF is decoded").decoder
}

/// The decoder has whole registers wherever they mean the same: in accesses, and where a number is set.
pub fn respell(text: &str) -> String {
    let text = text.replace("r10", "fp").replace("xchg32_32", "xchg_32_32");
    let text = text.replace("cmpxchg_32_32", "cmpxchg32_32");
    if let Some((register, number)) = text.split_once(" =")
        && let (Some(n), Ok(number)) = (register.strip_prefix('w'), number.parse::<i64>())
    {
        return format!("r{n} ={}", number as u32);
    }
    if !text.contains("*)(") && !text.contains("xchg") {
        return text;
    }
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let register = c == 'w' && !before.is_ascii_alphanumeric() && before != '_';
        out.push(match register && chars.peek().is_some_and(char::is_ascii_digit) {
            true => 'r',
            false => c,
        });
        before = c;
    }
    out
}
