//! How many contexts `litmake tv` judges a second, on one core, for functions of six operations.
//!
//!     cargo bench --bench tv

#![allow(clippy::print_stdout, reason = "a measurement prints what it measures")]

use litmake::isa::llvm::module::Module;
use litmake::tv::judge::{Answer, Court, Settings};
use litmake::tv::pair;

/// Six operations, of which two are swapped that may be.
const SWAPPED: &str = "
define i32 @src(ptr noalias %x, ptr noalias %y) {
  %a = load atomic i32, ptr %x monotonic, align 4
  store atomic i32 1, ptr %y monotonic, align 4
  fence acquire
  %b = load atomic i32, ptr %y monotonic, align 4
  fence release
  store atomic i32 2, ptr %x monotonic, align 4
  ret i32 %a
}
define i32 @tgt(ptr noalias %x, ptr noalias %y) {
  store atomic i32 1, ptr %y monotonic, align 4
  %a = load atomic i32, ptr %x monotonic, align 4
  fence acquire
  %b = load atomic i32, ptr %y monotonic, align 4
  fence release
  store atomic i32 2, ptr %x monotonic, align 4
  ret i32 %a
}
";

/// Read-modify-writes, with a release store that is made stronger.
const UPDATES: &str = "
define i32 @src(ptr noalias %x, ptr noalias %y) {
  %a = atomicrmw add ptr %x, i32 1 acquire, align 4
  %b = load atomic i32, ptr %y monotonic, align 4
  store atomic i32 3, ptr %y release, align 4
  %c = atomicrmw xchg ptr %x, i32 5 monotonic, align 4
  %d = load atomic i32, ptr %y acquire, align 4
  store atomic i32 7, ptr %x release, align 4
  ret i32 %a
}
define i32 @tgt(ptr noalias %x, ptr noalias %y) {
  %a = atomicrmw add ptr %x, i32 1 acquire, align 4
  %b = load atomic i32, ptr %y monotonic, align 4
  store atomic i32 3, ptr %y seq_cst, align 4
  %c = atomicrmw xchg ptr %x, i32 5 monotonic, align 4
  %d = load atomic i32, ptr %y acquire, align 4
  store atomic i32 7, ptr %x release, align 4
  ret i32 %a
}
";

fn main() {
    let mut court = Court::new(Settings::default()).unwrap_or_else(|e| panic!("{e}"));
    for (name, text) in [("loads, stores and fences", SWAPPED), ("read-modify-writes", UPDATES)] {
        let module = Module::read(text).unwrap_or_else(|e| panic!("{e}"));
        let report = court.judge(&pair::within(&module)[0]);
        assert!(matches!(report.answer, Answer::Holds), "{name}: {:?}", report.answer);
        let rate = report.judged as f64 / report.time.as_secs_f64();
        println!("{name}: {} contexts in {:.2?}, {rate:.0} a second", report.judged, report.time);
    }
}
