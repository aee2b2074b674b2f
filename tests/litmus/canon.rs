//! Which tests are one, and which are not.

use litmake::litmus::canon::{canonical_hash, canonical_text};

use crate::read;

const ONE: &str = r#"AArch64 one
"a title"
Cycle=Rfe
{ 0:X1=x; 1:X1=x; int z=0; }
P0 | P1 ;
 L0: LDR W0,[X1, #4] | STR W0,[X1] ;
 CBNZ W0,L0 | L9: ;
B L1 | ;
 L1: | ;
exists (0:X0=1 /\ x!=2)
"#;

#[test]
fn layout_does_not_count() {
    let other = r"AArch64 other
(* other *)
{
1:X1 = x;
0:X1=x; int32_t z; }
P0 (* first *) | P1 ;
 Loop: Again: | ;
 LDR  W0 , [ X1,#4 ] | STR W0,[X1] ;
CBNZ W0 ,Again | ;
 B End | ;
 End: | ;
exists ((0:X0=1) /\ not ([x]=0x2))
";
    let (a, b) = (read(ONE), read(other));
    assert_eq!(canonical_text(&a), canonical_text(&b));
    assert_eq!(canonical_hash(&a), canonical_hash(&b));
    assert!(!a.same_as(&b));
}

#[test]
fn what_counts() {
    let hash = canonical_hash(&read(ONE));
    for (from, to) in [
        ("W0,[X1, #4]", "W0,[X1, #8]"),
        ("CBNZ W0,L0", "CBNZ W0,L1"),
        ("CBNZ W0,L0", "CBNZ W0, X0"),
        ("1:X1=x", "1:X1=y"),
        ("1:X1=x", "1:X2=x"),
        ("int z=0", "int z=1"),
        ("int z=0", "uint32_t z=0"),
        ("int z=0", "int y=0"),
        ("int z=0", "z=0"),
        ("exists", "~exists"),
        ("exists", "forall"),
        ("exists", "locations [z] exists"),
        ("exists", "filter z=0 exists"),
        ("x!=2", "x=2"),
        ("/\\", "\\/"),
        ("| STR W0,[X1] ;", "| ;"),
    ] {
        let text = ONE.replacen(from, to, 1);
        assert_ne!(text, ONE, "{from}");
        assert_ne!(canonical_hash(&read(&text)), hash, "{from} -> {to}");
    }
}

#[test]
fn labels_as_values() {
    let text = |label: &str, value: &str| {
        format!(
            r#"ARM T
{{ 0:R1=P0:{value}; }}
 P0 ;
 {label}: DMB ;
 M: DMB ;
exists (0:R0=label:"P0:{value}")
"#
        )
    };
    let hash = |a: &str, b: &str| canonical_hash(&read(&text(a, b)));
    assert_eq!(hash("L0", "L0"), hash("L1", "L1"));
    assert_ne!(hash("L0", "L0"), hash("L0", "M"));
}

/// The form is part of what stored results are keyed by: a change must be on purpose.
#[test]
fn the_form() {
    assert_eq!(
        canonical_text(&read(ONE)),
        "litmus 1 AArch64\ninit 0:X1 [1]=x\ninit 1:X1 [1]=x\ninit z int[1]=\nthread 0\n\
         LDR W0,[X1,#4]\nCBNZ W0,\u{1}0\nB \u{1}3\nthread 1\nSTR W0,[X1]\n\
         exists (0:X0=1 /\\ not ([x]=2))\n"
    );
}
