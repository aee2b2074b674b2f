//! Threads that modules make.

use super::*;
use litmake_litmus::{InitValue, Value};

const TEXT: &str = "
.version 8.7
.target sm_70
.func (.param .b32 func_retval0) twice
(
	.param .b32 twice_param_0
)
;
.global .align 4 .b8 table[12] = {4, 0, 0, 0, 5};
.global .align 4 .u32 t0_loc_x;
.visible .func t0_P0(
	.param .b64 t0_P0_param_0
)
{
	.local .align 8 .b8 	__local_depot0[12];
	.reg .b64 	%SP;
	.reg .pred 	%p<2>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<9>;
	mov.b64 	%SP, __local_depot0;
	ld.param.b64 	%rd1, [t0_P0_param_0];
$L__BB0_1:
	{ // callseq 0, 0
	.reg .b32 temp;
	.param .b32 	param0;
	.param .b32 	retval0;
	neg.s32 temp, 3;
	st.param.b32 	[param0+0], temp;
	call.uni (retval0), twice, (param0);
	ld.param.b32 	%r1, [retval0];
	} // callseq 0
	st.b32 	[%SP+8], %r1;
	st.release.sys.global.b32 	[t0_loc_x], %r1;
	ld.b32 	%r2, [table+4];
	setp.lt.u32 	%p1, %r1, 20;
	@%p1 bra 	$L__BB0_1;
	$L_brx_0: .branchtargets
		$L__BB0_1,
		$L__BB0_3;
	brx.idx 	%r1, $L_brx_0;
$L__BB0_3:
	st.b32 	[%rd1], %r2;
	ret;
}
.func  (.param .b32 func_retval0) twice(
	.param .b32 twice_param_0
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<3>;
	ld.param.b32 	%r1, [twice_param_0];
	setp.eq.b32 	%p1, %r1, 0;
	@%p1 ret;
	add.s32 	%r2, %r1, %r1;
	st.param.b32 	[func_retval0], %r2;
	ret;
}
";

fn made(text: &str) -> Result<Thread, Failure> {
    let module = Module::read(text).expect("reads");
    let globals = [("t0_loc_x".to_string(), "x".to_string())];
    let params = ["out_P0_a".to_string()];
    thread(&module, "t0_P0", &Given { params: &params, globals: &globals })
}

fn text(thread: &Thread) -> String {
    let line = |l: &Line| {
        let labels: String = l.labels.iter().map(|l| format!("{l}: ")).collect();
        labels + &l.text + "\n"
    };
    thread.lines.iter().map(line).collect()
}

#[test]
fn calls_and_parameters_are_replaced_by_code() {
    let thread = made(TEXT).expect("a thread");
    let text = text(&thread);
    let expected = "\
.local .align 8 .b8 stack0[12]
mov.b64 %rd0, stack0
mov.b64 %rd1, out_P0_a
L0: neg.s32 %r0, 3
mov.b32 %r1, %r0
mov.b32 %r3, %r1
setp.eq.b32 %p0, %r3, 0
@%p0 bra L1
add.s32 %r4, %r3, %r3
mov.b32 %r2, %r4
bra L1
L1: mov.b32 %r5, %r2
st.b32 [%rd0+8], %r5
st.release.sys.global.b32 [x], %r5
ld.b32 %r6, [module_table+4]
setp.lt.u32 %p1, %r5, 20
@%p1 bra L0
setp.eq.u32 %p2, %r5, 0
@%p2 bra L0
bra L2
L2: st.b32 [%rd1], %r6
ret
";
    assert_eq!(text, expected);
    let table = thread.init.iter().find(|i| i.place.to_string() == "module_table");
    let values = [4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0].map(Value::Int).to_vec();
    assert_eq!(table.and_then(|t| t.value.clone()), Some(InitValue::Array(values)));
    let source = litmake_base::diag::Source::new("t", "");
    let isa = litmake_isa::of(litmake_litmus::Arch::Ptx).expect("an instruction set");
    let code = isa.thread(&source, &thread.lines, &mut litmake_litmus::Anything);
    assert!(code.is_ok(), "{:?}\n{text}", code.err());
}

/// Code of nvcc without optimisation: an object of bytes goes to a function and comes back from it.
const OBJECTS: &str = "
.version 9.0
.func (.param .align 8 .b8 func_retval0[16]) both
(
	.param .align 8 .b8 both_param_0[16]
)
{
	.reg .b64 	%rd<3>;
	ld.param.u64 	%rd1, [both_param_0+8];
	mov.b64 	%rd2, both_param_0;
	st.param.b64 	[func_retval0+0], %rd1;
	st.param.b64 	[func_retval0+8], %rd2;
	ret;
}
.visible .func t0_P0(
	.param .b64 t0_P0_param_0
)
{
	.reg .b64 	%rd<9>;
	ld.param.u64 	%rd1, [t0_P0_param_0];
	{ // callseq 0, 0
	.param .align 8 .b8 	param0[16];
	st.param.b64 	[param0], %rd1;
	st.param.b64 	[param0+8], %rd1;
	.param .align 8 .b8 	retval0[16];
	call.uni (retval0),
	both,
	(
	param0
	);
	ld.param.b64 	%rd2, [retval0];
	}
	// begin inline asm
	st.relaxed.sys.b64 [%rd2],%rd1;
 fence.sc.sys;
	// end inline asm
	ret;
}
";

#[test]
fn a_parameter_that_is_a_list_of_bytes_is_memory_of_the_thread() {
    let module = Module::read(OBJECTS).expect("reads");
    let with = |params: &[&str]| {
        let params: Vec<String> = params.iter().map(|p| p.to_string()).collect();
        thread(&module, "t0_P0", &Given { params: &params, globals: &[] })
    };
    let expected = "\
mov.u64 %rd0, x
.local .align 8 .b8 stack0[16]
st.b64 [stack0+0], %rd0
st.b64 [stack0+8], %rd0
.local .align 8 .b8 stack1[16]
ld.u64 %rd1, [stack0+8]
mov.b64 %rd2, stack0
st.b64 [stack1+0], %rd1
st.b64 [stack1+8], %rd2
bra L0
L0: ld.b64 %rd3, [stack1+0]
st.relaxed.sys.b64 [%rd3],%rd0
fence.sc.sys
ret
";
    assert_eq!(text(&with(&["x"]).expect("a thread")), expected);
    let refusal = with(&["stack1"]).expect_err("two things of one name").text();
    assert!(refusal.contains("`stack1` is a location"), "{refusal}");
    // What a test gives such a parameter of its own function is not known.
    let refusal = made(&TEXT.replace(".b64 t0_P0_param_0", ".align 8 .b8 t0_P0_param_0[8]"))
        .expect_err("bytes")
        .text();
    assert!(refusal.contains("several parts"), "{refusal}");
}

#[test]
fn equal_code_has_equal_text() {
    let other = TEXT.replace("%rd", "%long").replace("$L__", "$M_").replace("%r1", "%r7");
    assert_eq!(text(&made(TEXT).expect("a thread")), text(&made(&other).expect("a thread")));
}

#[test]
fn what_has_no_form_as_a_thread_is_refused() {
    for (from, to, why) in [
        ("add.s32 	%r2, %r1, %r1", "mov.u32 %r2, %tid.x", "%tid.x"),
        ("twice, (param0)", "other, (param0)", "`other`"),
        ("twice, (param0)", "%rd1, (param0)", "a register holds"),
        ("[param0+0]", "[param0+4]", "several parts"),
        ("[table+4]", "[elsewhere]", "`elsewhere`"),
        ("t0_P0_param_0]", "missing]", "several parts"),
        (".param .b64 t0_P0_param_0", "", "parameters"),
        (".b8 table[12] = {4, 0, 0, 0, 5}", ".b64 table[2] = {f, 0}", "`table` holds"),
    ] {
        assert!(TEXT.contains(from), "{from}");
        let e = made(&TEXT.replace(from, to)).expect_err(to).text();
        assert!(e.contains(why), "{to}: {e}");
    }
}
