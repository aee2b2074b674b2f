//! What texts mean.

use std::sync::Arc;

use litmake::litmus::{
    Arch, Body, CmpOp, InitValue, Operand, Place, Prop, Quantifier, Test, Type, Value,
};

use crate::read;

fn mem(name: &str) -> Place {
    Place::Mem { name: name.to_string(), index: None }
}

fn reg(thread: usize, name: &str) -> Place {
    Place::Reg { thread, name: name.to_string() }
}

fn eq(place: Place, n: i128) -> Prop {
    Prop::Cmp(place, CmpOp::Eq, Operand::Value(Value::Int(n)))
}

fn addr(name: &str, index: u64) -> Value {
    Value::Addr { name: name.to_string(), index }
}

fn one(test: &Test, i: usize) -> (&Place, Option<&Type>, Option<&Value>) {
    let item = &test.init[i];
    let value = match &item.value {
        Some(InitValue::One(v)) => Some(v),
        None => None,
        Some(InitValue::Array(vs)) => panic!("{vs:?}"),
    };
    (&item.place, item.ty.as_ref(), value)
}

fn lines(test: &Test, thread: usize) -> Vec<(Vec<&str>, &str)> {
    let Body::Asm(lines) = &test.threads[thread] else {
        panic!("a C thread");
    };
    lines.iter().map(|l| (l.labels.iter().map(String::as_str).collect(), &*l.text)).collect()
}

const UINT64: Type = Type::Int { bytes: 8, signed: false };

#[test]
fn header() {
    let test = read(
        r#"AArch64 MP+dmb.sy+addr.litmus
"a title
  of two lines"
(* a (* nested *) comment *)
Cycle=Rfe DMB.SYdRR {Fre}
Hash = 12 
stray words
{}
 P0 ;
 NOP ;
"#,
    );
    assert_eq!(test.arch, Arch::AArch64);
    assert_eq!(test.name, "MP+dmb.sy+addr");
    assert_eq!(test.doc.as_deref(), Some("a title of two lines"));
    assert_eq!(
        test.info,
        [
            ("Cycle".to_string(), "Rfe DMB.SYdRR {Fre}".to_string()),
            ("Hash".to_string(), "12".to_string())
        ]
    );
    assert_eq!(test.condition.quantifier, Quantifier::Forall);
    assert_eq!(test.condition.prop, Prop::True);
}

#[test]
fn initial_states() {
    let test = read(
        "AArch64 T
{ 0:X1=x; P0:X2 = &y[1]; uint64_t z=0xffffffffffffffff; [w]=-1; v;
int *p = x; *q=x; _Atomic(int8_t) a; const volatile unsigned long long b=010;
atomic_int* c; uint64_t 0:X3=0b101; 0:X4=P0:L; __int128 d=-0x1; struct s e; 0:X5=0:L }
P0 ;
 L: NOP ;
",
    );
    let int8 = Type::Int { bytes: 1, signed: true };
    let boxed = |t: &Type| Arc::new(t.clone());
    let pointer = |t: &Type| Type::Pointer(boxed(t));
    let label = Value::Label { thread: Some(0), name: "L".to_string() };
    assert_eq!(one(&test, 0), (&reg(0, "X1"), None, Some(&addr("x", 0))));
    assert_eq!(one(&test, 1), (&reg(0, "X2"), None, Some(&addr("y", 1))));
    let max = Value::Int(u64::MAX as i128);
    assert_eq!(one(&test, 2), (&mem("z"), Some(&UINT64), Some(&max)));
    assert_eq!(one(&test, 3), (&mem("w"), None, Some(&Value::Int(-1))));
    assert_eq!(one(&test, 4), (&mem("v"), None, None));
    let x = addr("x", 0);
    assert_eq!(one(&test, 5), (&mem("p"), Some(&pointer(&Type::INT)), Some(&x)));
    assert_eq!(one(&test, 6), (&mem("q"), Some(&pointer(&Type::Void)), Some(&x)));
    let atomic = Type::Atomic(boxed(&int8));
    assert_eq!(one(&test, 7), (&mem("a"), Some(&atomic), None));
    let (place, ty, value) = one(&test, 8);
    assert_eq!((place, value), (&mem("b"), Some(&Value::Int(10))));
    let ty = ty.unwrap();
    assert!(ty.is_const() && ty.is_volatile() && !ty.is_atomic());
    assert_eq!(ty.bare(), &UINT64);
    let atomic_int = Type::Atomic(boxed(&Type::INT));
    assert_eq!(one(&test, 9), (&mem("c"), Some(&pointer(&atomic_int)), None));
    assert_eq!(one(&test, 10), (&reg(0, "X3"), Some(&UINT64), Some(&Value::Int(5))));
    assert_eq!(one(&test, 11), (&reg(0, "X4"), None, Some(&label)));
    assert_eq!(one(&test, 12).2, Some(&Value::Int(-1)));
    assert_eq!(one(&test, 13).1, Some(&Type::Named("struct s".to_string())));
    assert_eq!(one(&test, 14), (&reg(0, "X5"), None, Some(&label)));
}

#[test]
fn arrays() {
    let test = read(
        r"C T
{ int x[2]; uint64_t y[2] = {1, &x[1]}; }
P0 () {}
forall (x={0,0} /\ y[0]=1)
",
    );
    assert_eq!(test.init[0].ty, Some(Type::Array(Arc::new(Type::INT), 2)));
    assert_eq!(test.init[0].value, None);
    assert_eq!(test.init[1].value, Some(InitValue::Array(vec![Value::Int(1), addr("x", 1)])));
    let zeros = Operand::Array(vec![Value::Int(0), Value::Int(0)]);
    let element = Place::Mem { name: "y".to_string(), index: Some(0) };
    assert_eq!(
        test.condition.prop,
        Prop::And(vec![Prop::Cmp(mem("x"), CmpOp::Eq, zeros), eq(element, 1)])
    );
}

#[test]
fn registers_of_every_dialect() {
    for (arch, name) in [
        ("AArch64", "W10"),
        ("ARM", "R0"),
        ("X86", "EAX"),
        ("X86_64", "rax"),
        ("X86_64", "%rax"),
        ("RISCV", "a0"),
        ("PPC", "r31"),
        ("MIPS", "$8"),
        ("MIPS", "$t0"),
    ] {
        let test =
            read(&format!("{arch} T\n{{ 0:{name}=x; }}\n P0 ;\n nop ;\nexists (0:{name}=1)\n"));
        assert_eq!(test.init[0].place, reg(0, name));
        assert_eq!(test.condition.prop, eq(reg(0, name), 1));
    }
}

#[test]
fn tables() {
    let test = read(
        "AArch64 T
{}
 P0 (* one *) | P1:  ;
 MOV X0,#1 | L0: L1 : LDR X0, [X1, #8]! ;
| (* nothing *) ;
 L2: | B.NE (* back *) L0 ;
 STP X0,X1,[X2] | L3: ;
 L4: | ;
",
    );
    assert_eq!(
        lines(&test, 0),
        [(vec![], "MOV X0,#1"), (vec!["L2"], "STP X0,X1,[X2]"), (vec!["L4"], "")]
    );
    assert_eq!(
        lines(&test, 1),
        [(vec!["L0", "L1"], "LDR X0, [X1, #8]!"), (vec![], "B.NE L0"), (vec!["L3"], "")]
    );
    let Body::Asm(all) = &test.threads[1] else {
        panic!();
    };
    let span = all[0].span;
    assert_eq!(&test.source.text[span.start as usize..span.end as usize], "LDR X0, [X1, #8]!");
}

#[test]
fn symbolic_registers() {
    let test = read(
        "AArch64 T
{ uint64_t %x=x; 1:%y=y; 1:X28=7; }
 P0 | P1 ;
STR W%x,[X%x] | LDR X27,[%y] ;
 | STR W27,[X%x] ;
exists (1:%y=1)
",
    );
    assert_eq!(lines(&test, 0), [(vec![], "STR W28,[X28]")]);
    assert_eq!(lines(&test, 1), [(vec![], "LDR X27,[X26]"), (vec![], "STR W27,[X25]")]);
    let places: Vec<Place> = test.init.iter().map(|i| i.place.clone()).collect();
    assert_eq!(places, [reg(0, "X28"), reg(1, "X25"), reg(1, "X26"), reg(1, "X28")]);
    assert_eq!(test.condition.prop, eq(reg(1, "X26"), 1));
}

#[test]
fn c_functions() {
    let test = read(
        "C T
{ x=1; }
(* about *) static int f(int a) { return a; } // one
void P0 (atomic_int* x) { /* } */ int r0 = 1; { } // }
 }
/* two */
int g(void) { return 2; }
P1 (int *x) { *x = 1; }
locations [x; 0:r0 uint8_t; x int*;] filter x=1 exists (0:r0=1) (* end *)",
    );
    let name = |b: &Body| match b {
        Body::C(f) => f.name.clone(),
        Body::Asm(_) => String::new(),
    };
    let threads: Vec<String> = test.threads.iter().map(name).collect();
    assert_eq!(threads, ["P0", "P1"]);
    let helpers: Vec<&str> = test.helpers.iter().map(|h| h.name.as_str()).collect();
    assert_eq!(helpers, ["f", "g"]);
    assert_eq!(test.locations.len(), 3);
    assert_eq!(test.locations[2].ty, Some(Type::Pointer(Arc::new(Type::INT))));
    assert_eq!(test.filter, Some(eq(mem("x"), 1)));
}

/// `\/` is weaker than `/\`, which is weaker than `=>`: the order is herd's, and unusual.
#[test]
fn precedence() {
    let prop = |text: &str| {
        read(&format!(
            "PPC T
{{}}
 P0 ;
 sync ;
exists {text}
"
        ))
        .condition
        .prop
    };
    let [a, b, c] = ["a", "b", "c"].map(|n| eq(mem(n), 1));
    let implies = |p: &Prop, q: &Prop| Prop::Implies(Box::new(p.clone()), Box::new(q.clone()));
    let not = |p: &Prop| Prop::Not(Box::new(p.clone()));
    assert_eq!(
        prop("a=1 \\/ b=1 /\\ c=1"),
        Prop::Or(vec![a.clone(), Prop::And(vec![b.clone(), c.clone()])])
    );
    assert_eq!(prop("a=1 /\\ b=1 => c=1"), Prop::And(vec![a.clone(), implies(&b, &c)]));
    assert_eq!(prop("a=1 => b=1 => c=1"), implies(&a, &implies(&b, &c)));
    assert_eq!(prop("not a=1 /\\ ~b=1"), Prop::And(vec![not(&a), not(&b)]));
    assert_eq!(prop("(a=1 /\\ b=1) /\\ c=1"), Prop::And(vec![a.clone(), b.clone(), c.clone()]));
    assert_eq!(prop("true"), Prop::True);
    assert_eq!(prop("([a]==1)"), a);
    assert_eq!(prop("*a=1"), a);
}

#[test]
fn operands() {
    let prop = |text: &str| {
        read(&format!(
            "PPC T
{{}}
 P0 ;
 L0: sync ;
{text}
"
        ))
        .condition
        .prop
    };
    let r = || reg(0, "r1");
    assert_eq!(prop("exists 0:r1=x"), Prop::Cmp(r(), CmpOp::Eq, Operand::Value(addr("x", 0))));
    assert_eq!(prop("exists 0:r1<>[x]"), Prop::Cmp(r(), CmpOp::Ne, Operand::Place(mem("x"))));
    assert_eq!(prop("~exists 0:r1=P0:r2"), Prop::Cmp(r(), CmpOp::Eq, Operand::Place(reg(0, "r2"))));
    let label = Value::Label { thread: Some(0), name: "L0".to_string() };
    for text in ["forall 0:r1=0:L0", "forall 0:r1=label:\"P0:L0\""] {
        assert_eq!(prop(text), Prop::Cmp(r(), CmpOp::Eq, Operand::Value(label.clone())));
    }
    assert_eq!(
        prop("observed 0:r1=1; x=2; and 0:r1=2;"),
        Prop::Or(vec![Prop::And(vec![eq(r(), 1), eq(mem("x"), 2)]), eq(r(), 2)])
    );
    assert_eq!(prop("exists (x=1) with TSO: ~exists; SC: exists;"), eq(mem("x"), 1));
}
