//! Tests that build and run programs, where this machine and a compiler allow it.

use litmake_base::failure::{Failure, FailureKind, Fault};
use litmake_base::records::Nowhere;
use litmake_base::stop::Stop;

use super::build::Builder;
use super::judge::{Conclusion, Models, Tally};
use super::session::{Prepared, Session, Setup, unseen, whole};
use litmake_base::diag::Source;
use litmake_devices::Class;
use litmake_litmus::{self as litmus, Test};
use litmake_needs::holds;

const SB: &str = "X86_64 SB
{ x=0; y=0; }
 P0           | P1           ;
 movl $1,(x)  | movl $1,(y)  ;
 movl (y),%eax | movl (x),%eax ;
exists (0:rax=0 /\\ 1:rax=0)
";

const R: &str = "X86_64 R
{ 1:rdi=y; }
 P0          | P1            ;
 movl $1,(x) | movl $2,(%rdi) ;
 movl $1,(y) | movl (x),%eax ;
exists ([y]=2 /\\ 1:rax=0)
";

/// Branches, exchanges, 64-bit values, and an address in memory.
const MISC: &str = "X86_64 misc
{ uint64_t x=0x123456789; int64_t p=x; 0:rcx=7; }
 P0              | P1               ;
 movq (x),%rax   | movq (p),%rbx    ;
 cmpq $0,%rax    | movl $1,%eax     ;
 jne L0          | xchgl %eax,(y)   ;
 movl $5,%ecx    | movl %eax,(z)    ;
 L0:             |                  ;
locations [0:rcx; p; x; z;]
exists ([y]=1)
";

const C: &str = "C mp
{}
P0 (int* x, atomic_int* y) {
  *x = 1;
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = 2;
  if (r0) { r1 = *x; }
}
exists (1:r0=1 /\\ 1:r1=0)
";

fn read(text: &str) -> Test {
    litmus::read(&Source::new("t", text)).unwrap()
}

/// A session, if the tests of this file can run here.
fn session() -> Option<Session> {
    let fits = super::machine::host() == Some(litmus::Arch::X86_64);
    holds("an x86-64 processor", fits).then(|| Session::new(None, &Nowhere).unwrap())
}

fn run(
    session: &Session,
    texts: &[&str],
    model: Option<&str>,
    setup: &Setup,
) -> Vec<(Prepared, Tally)> {
    let mut models = Models::new(model);
    let stop = Stop::default();
    let tests: Vec<Prepared> =
        texts.iter().map(|t| Prepared::new(&read(t), &mut models).unwrap()).collect();
    let built = session.build(&tests, &stop);
    let environments = setup.draw().unwrap();
    tests
        .into_iter()
        .zip(built)
        .map(|(test, ready)| {
            let tallies =
                session.tallies(&test, &ready.unwrap(), &environments, setup, &stop).unwrap();
            (test, whole(&tallies))
        })
        .collect()
}

/// A few rounds in every kind of environment: enough to check counts, but not rates.
fn few(environments: u32) -> Setup {
    Setup { environments, rounds: 4, seconds: 5.0, ..Setup::default() }
}

#[test]
fn every_instance_is_counted_and_nothing_forbidden_shows() {
    let Some(session) = session() else { return };
    let setup = few(24);
    let sum: u64 = setup.draw().unwrap().iter().map(|e| u64::from(e.instances)).sum();
    for (test, tally) in run(&session, &[SB, R, MISC, C], None, &setup) {
        let name = &test.test.name;
        assert_eq!(tally.forbidden(), 0, "{name}: {:?}", tally.states);
        // Each group of workers counts separately.
        assert_eq!(tally.total() % (4 * sum), 0, "{name}");
        assert!(tally.total() > 0 && tally.rounds >= 4 * 24, "{name}");
        assert!(unseen(&test, &tally).len() < test.expected.allowed.len(), "{name}");
    }
}

/// A thread sees a store before all others only if it made the store.
const RWC: &str = "X86_64 RWC
{ }
 P0          | P1            | P2            ;
 movl $1,(x) | movl (x),%eax | movl $1,(y)   ;
             | movl (y),%ebx | mfence        ;
             |               | movl (x),%eax ;
exists (1:rax=1 /\\ 1:rbx=0 /\\ 2:rax=0)
";

#[test]
fn threads_that_share_a_worker_see_no_store_early() {
    let Some(session) = session() else { return };
    // Few instances in different orders: a worker may meet an instance again that it has just left
    // as another thread.
    let sets = [("instances", 4), ("turn", 2), ("pairPct", 100), ("dealPct", 100), ("workers", 2)];
    let overrides = sets.map(|(name, value)| (name.to_string(), value)).to_vec();
    let setup =
        Setup { environments: 8, rounds: 2000, seconds: 2.0, overrides, ..Setup::default() };
    let (_, tally) = run(&session, &[RWC], None, &setup).remove(0);
    assert!(tally.total() > 0);
    assert_eq!(tally.forbidden(), 0, "{:?}", tally.states);
}

#[test]
fn pruning_goes_by_the_code_that_runs() {
    use super::killable::{Fate, Judge};
    let Some(session) = session() else { return };
    let mut judge = Judge::new(&session.profile).unwrap();
    let stop = Stop::default();
    // C11 allows the outcome of message passing without order; the machine does not.
    let weak = C.replace("_release", "_relaxed").replace("_acquire", "_relaxed");
    let (sb, mp, order) = (read(SB), read(&weak), read(R));
    let fates = judge.fates(&session.profile, &[&sb, &mp, &order], &stop);
    assert_eq!(fates, [Fate::CanDie, Fate::CannotDie, Fate::CanDie]);
}

#[test]
fn values_are_those_of_the_model() {
    let Some(session) = session() else { return };
    let (test, tally) = run(&session, &[MISC], None, &few(4)).remove(0);
    let state = tally.states.keys().next().unwrap();
    assert!(test.expected.allowed.contains(state), "{state:?}");
    let shown = super::judge::text(state);
    for part in ["0:rcx=7;", "[p]=x;", "[x]=4886718345;", "[y]=1;", "[z]=0;"] {
        assert!(shown.contains(part), "{shown}");
    }
}

/// 32-bit tests run as 64-bit code, with the model's values and the test's names of registers.
#[test]
fn tests_of_32_bit_code_run() {
    let Some(session) = session() else { return };
    let store_buffering = r"X86 SB
{ x=0; y=0; }
 P0 | P1 ;
 MOV [x],$1 | MOV [y],$1 ;
 MOV EAX,[y] | MOV EBX,[x] ;
exists (0:EAX=0 /\ 1:EBX=0)
";
    let pointers = "X86 pointers
{ 0:EBX=x; int x=-7; }
 P0 ;
 MOV ECX,[EBX] ;
 XCHG EDX,[EBX] ;
 DEC [y] ;
 XOR ESI,ESI ;
 MOV EDI,[x+ESI] ;
locations [x; y; 0:EDI; 0:EDX;]
exists (0:ECX=-7)
";
    let runs = run(&session, &[store_buffering, pointers], None, &few(4));
    for (test, tally) in &runs {
        let wrong = tally.states.values().filter(|s| s.class == Class::Forbidden).count();
        assert!(wrong == 0 && tally.lost == 0, "{}: {:?}", test.test.name, tally.states);
    }
    let shown = super::judge::text(runs[1].1.states.keys().next().unwrap());
    for part in ["0:ECX=-7;", "0:EDX=-7;", "0:EDI=0;", "[x]=0;", "[y]=-1;"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn what_a_stronger_model_forbids_is_told() {
    let Some(session) = session() else { return };
    // Program order that machines do not keep: under this model, all outcomes of SB but one are
    // forbidden.
    let (test, tally) = run(&session, &[R], Some("sc"), &few(8)).remove(0);
    let record = session.record(&test, std::slice::from_ref(&tally), &few(8));
    let forbidden = tally.states.values().any(|s| s.class == Class::Forbidden);
    assert_eq!(forbidden, !record.violations.is_empty());
    assert_eq!(Conclusion::new(false, true), Conclusion::Unsound);
}

#[test]
fn values_without_a_number_are_kept() {
    let Some(session) = session() else { return };
    // The value of `rdtsc` is not expected and has no number. The simulator does not know the
    // instruction, so an unexpected value is made by exchanging the test.
    let mut models = Models::new(None);
    let mut test = Prepared::new(&read(SB), &mut models).unwrap();
    let other = read(&SB.replace("movl $1,(x)", "movl $77,(x)"));
    test.test.threads = other.threads;
    let stop = Stop::default();
    let tests = [test];
    let ready = session.build(&tests, &stop).remove(0).unwrap();
    let setup = few(8);
    let environments = setup.draw().unwrap();
    let tally = whole(&session.tallies(&tests[0], &ready, &environments, &setup, &stop).unwrap());
    let odd: Vec<String> = tally
        .states
        .iter()
        .filter(|(_, s)| s.class == Class::Forbidden)
        .map(|(s, _)| super::judge::text(s))
        .collect();
    assert!(odd.iter().all(|s| s.contains("1:rax=77;")), "{odd:?}");
    assert!(!odd.is_empty() && tally.lost == 0);
}

#[test]
fn crashes_and_wrong_code_are_told_apart() {
    let Some(session) = session() else { return };
    let stop = Stop::default();
    let mut models = Models::new(None);
    // Null is not a location, so reading it ends the program.
    let crash = "X86_64 crash
{ }
 P0 | P1 ;
 movl $1,(x) | movl (x),%eax ;
exists (1:rax=1)
";
    let mut tests = vec![Prepared::new(&read(crash), &mut models).unwrap()];
    let wild = read(&crash.replace("movl (x),%eax", "movl (%rax),%ecx"));
    tests[0].test.threads = wild.threads;
    tests.push(Prepared::new(&read(SB), &mut models).unwrap());
    let built = session.build(&tests, &stop);
    let setup = few(1);
    let environments = setup.draw().unwrap();
    let ready = built[0].as_ref().unwrap();
    let ended = session.tallies(&tests[0], ready, &environments, &setup, &stop);
    let crashed = FailureKind::Broken(Fault::Crashed(Some(libc::SIGSEGV)));
    assert_eq!(ended.unwrap_err().kind, crashed);
    let ready = built[1].as_ref().unwrap();
    assert!(session.tallies(&tests[1], ready, &environments, &setup, &stop).is_ok());
    // A test in another machine's dialect is rejected.
    let foreign = read(
        "AArch64 a
{ 0:X1=x; }
 P0 ;
 LDR W0,[X1] ;
exists (0:X0=0)
",
    );
    let error = session.accepts(&foreign).unwrap_err();
    assert_eq!(error.message, "a: a test of AArch64; what runs here are tests of X86_64, X86, C");
}

#[test]
fn a_batch_is_halved_down_to_the_test_that_is_to_blame() {
    let Some(session) = session() else { return };
    let builder = Builder::new(session.machine.clone(), session.profile.clone()).unwrap();
    let mut models = Models::new(None);
    let test = Prepared::new(&read(SB), &mut models).unwrap();
    let code = |i: usize, n: usize| {
        let mut code = test.code(n)?;
        if i == 2 {
            code.driver.push_str("this is no C\n");
        }
        if i == 3 {
            return Err(Failure::from("refused"));
        }
        Ok(code)
    };
    let built = builder.build(5, &code, &Stop::default());
    let fine: Vec<bool> = built.iter().map(|b| b.is_ok()).collect();
    assert_eq!(fine, [true, true, false, false, true]);
}

#[test]
fn logs_have_the_form_of_litmus7() {
    let mut models = Models::new(None);
    let test = Prepared::new(&read(SB), &mut models).unwrap();
    let mut counted = super::run::Counted { rounds: 1, seconds: 0.5, ..Default::default() };
    counted.outcomes = vec![(0, 12), (1, 500_000), (3, 7)];
    let tally = Tally::new(&counted, &test.program, &test.columns, &test.expected);
    assert_eq!(
        super::log::block(&test, &tally),
        "Test SB Allowed
Histogram (3 states)
12    *>0:rax=0; 1:rax=0;
500000:>0:rax=0; 1:rax=1;
7     :>0:rax=1; 1:rax=0;
Ok

Witnesses
Positive: 12, Negative: 500007
Condition exists (0:rax=0 /\\ 1:rax=0) is validated
Observation SB Sometimes 12 500007
Time SB 0.50

"
    );
    let read = litmus::log::read(&Source::new("log", super::log::block(&test, &tally))).unwrap();
    assert_eq!((read.len(), read[0].states.len(), read[0].positive), (1, 3, 12));
}

#[test]
fn what_cannot_run_is_refused_by_name() {
    let mut models = Models::new(None);
    let mut refusal = |text: &str| {
        let test = Prepared::new(&read(text), &mut models);
        test.and_then(|t| t.code(0).map(|_| ())).unwrap_err().message
    };
    assert_eq!(
        refusal(
            "X86_64 t
{}
 P0 ;
 movdqa (x),%xmm0 ;
exists ([x]=0)
"
        ),
        "t: P0 uses xmm0; only general registers are run"
    );
    assert_eq!(
        refusal(
            "X86 t
{ 0:EBX=x; }
 P0 ;
 MOV [y],EBX ;
exists (y=x)
"
        ),
        "t: a 32-bit test whose memory or outcomes have addresses, which is not run in 64-bit code"
    );
    assert_eq!(
        refusal(
            "X86 t
{ 0:EBX=x; }
 P0 ;
 ADD EBX,$0 ;
exists ([x]=0)
"
        ),
        "t: P0 changes EBX, which holds an address: 64-bit code cannot keep it in 32 bits"
    );
    assert_eq!(
        refusal(
            "X86_64 t
{}
 P0 ;
 movq %rsp,%rax ;
exists ([x]=0)
"
        ),
        "t: P0 uses rsp, which belongs to the program around it"
    );
}
