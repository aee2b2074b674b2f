//! Values and annotations of single instructions, and what is refused.

use super::Spirv;
use crate::seq::{Machine, What};
use litmake_ops::{Tags, tag};

/// Declarations that the lines below use.
const DECLARED: &str = "
    OpMemoryModel Logical Vulkan
    OpMemberDecorate %struct 0 Offset 0
    OpMemberDecorate %struct 1 Offset 16
    OpDecorate %array ArrayStride 8
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %uchar = OpTypeInt 8 0
    %ulong = OpTypeInt 64 0
    %true = OpConstantTrue %bool
    %n1 = OpConstant %uint -1
    %c0 = OpConstant %uint 0
    %c1 = OpConstant %uint 1
    %c2 = OpConstant %uint 2
    %c3 = OpConstant %uint 3
    %c5 = OpConstant %uint 5
    %acquire_buffers = OpConstant %uint 0x4042
    %both_groups = OpConstant %uint 0x6108
    %release = OpConstant %uint 0x4
    %all_buffers = OpConstant %uint 0x250
    %b3 = OpConstant %uchar 3
    %b255 = OpConstant %uchar 255
    %array = OpTypeArray %uint %c3
    %struct = OpTypeStruct %uint %array
    %pair = OpTypeStruct %uint %bool
    %buffer = OpTypePointer StorageBuffer %struct
    %element = OpTypePointer StorageBuffer %uint
    %own = OpTypePointer Function %uint
    %group = OpTypePointer Workgroup %uint
    %x = OpVariable %element StorageBuffer
    %s = OpVariable %buffer StorageBuffer
    %g = OpVariable %group Workgroup
    %v = OpVariable %own Function %c5
";

fn run(text: &str) -> Machine {
    let mut machine = Machine::default();
    machine.run(&Spirv, &format!("{DECLARED}{text}"));
    machine
}

fn refusal(text: &str) -> String {
    let text = format!("{DECLARED}{text}");
    Machine::default().code(&Spirv, &text).err().unwrap_or_else(|| panic!("{text} is read"))
}

#[test]
fn arithmetic_is_within_the_width() {
    for (text, expected) in [
        ("%r = OpIAdd %uint %n1 %c2", 1),
        ("%r = OpISub %uint %c1 %c2", 0xffff_ffff),
        ("%r = OpShiftLeftLogical %uint %c3 %c2", 12),
        ("%r = OpShiftRightArithmetic %uint %n1 %c2", 0xffff_ffff),
        ("%r = OpIMul %uchar %b255 %b3", 0xfd),
        ("%r = OpUDiv %uint %c5 %c2", 2),
        ("%r = OpSRem %uint %n1 %c2", 0xffff_ffff),
        ("%r = OpSNegate %uint %c1", 0xffff_ffff),
        ("%r = OpNot %uchar %b3", 0xfc),
        ("%r = OpUGreaterThan %bool %n1 %c1", 1),
        ("%r = OpSGreaterThan %bool %n1 %c1", 0),
        ("%r = OpLogicalNot %bool %true", 0),
        ("%r = OpUConvert %uint %b255", 0xff),
        ("%r = OpSConvert %uint %b255", 0xffff_ffff),
        ("%r = OpUConvert %uchar %n1", 0xff),
        ("%r = OpSelect %uint %true %c2 %c3", 2),
        ("%r = OpUndef %uint", 0),
        ("%a = OpCompositeConstruct %pair %c5 %true\n%r = OpCompositeExtract %uint %a 0", 5),
        (
            "%u = OpUndef %pair\n%a = OpCompositeInsert %pair %c3 %u 0\n\
             %r = OpCompositeExtract %uint %a 0",
            3,
        ),
        ("%set = OpExtInstImport \"OpenCL.std\"\n%r = OpExtInst %uint %set s_max %n1 %c1", 1),
    ] {
        assert_eq!(run(text).reg("%r"), expected, "{text}");
    }
}

#[test]
fn a_variable_of_the_invocation_holds_what_it_is_given() {
    let text =
        "%a = OpLoad %uint %v\n%b = OpIAdd %uint %a %c1\nOpStore %v %b\n%r = OpLoad %uint %v";
    assert_eq!(run(text).reg("%r"), 6);
}

#[test]
fn an_access_chain_goes_by_the_layout_that_decorations_give() {
    let address = |text: &str| run(text).reg("%r");
    let base = address("%r = OpCopyObject %buffer %s");
    let chain = "%r = OpAccessChain %element %s %c1 %c2";
    assert_eq!(address(chain) - base, 16 + 2 * 8);
}

#[test]
fn blocks_phis_and_switches_go_where_they_say() {
    let text = "
        %entry = OpLabel
        OpBranch %loop
        %loop = OpLabel
        %i = OpPhi %uint %c0 %entry %n %loop
        %k = OpPhi %uint %c1 %entry %i %loop
        %n = OpIAdd %uint %i %c1
        %c = OpULessThan %bool %n %c5
        OpLoopMerge %done %loop None
        OpBranchConditional %c %loop %done
        %done = OpLabel
        OpSwitch %k %other 3 %three 4 %other
        %three = OpLabel
        OpBranch %end
        %other = OpLabel
        OpUnreachable
        %end = OpLabel
        %r = OpIAdd %uint %n %k
        OpReturn";
    assert_eq!(run(text).reg("%r"), 5 + 3);
}

/// The events of a text, behind that which gives a variable its first value.
fn events(text: &str) -> Vec<(What, Tags)> {
    run(text).events.into_iter().skip(1).map(|e| (e.what, e.tags)).collect()
}

#[test]
fn plain_accesses_are_private_unless_they_say_otherwise() {
    assert_eq!(events("%r = OpLoad %uint %x Aligned 4"), [(What::Load, Tags::NONE)]);
    let text = "%r = OpLoad %uint %x Volatile|Aligned|NonPrivatePointer|MakePointerVisible 4 %c5";
    let tags = tag::C_VOLATILE | tag::NONPRIV | tag::VIS | tag::QF;
    assert_eq!(events(text), [(What::Load, tags)]);
    let text = "OpStore %x %c1 MakePointerAvailable|NonPrivatePointer %c2";
    assert_eq!(events(text), [(What::Store, tag::AV | tag::NONPRIV | tag::WG)]);
}

#[test]
fn under_opencl_every_access_is_seen_by_whoever_it_happens_before() {
    let vulkan = "OpMemoryModel Logical Vulkan";
    let text = DECLARED.replace(vulkan, "OpMemoryModel Physical64 OpenCL") + "OpStore %x %c1";
    let mut machine = Machine::default();
    machine.run(&Spirv, &text);
    let tags = machine.events.last().map(|e| e.tags);
    assert_eq!(tags, Some(tag::NONPRIV | tag::AV | tag::SY));
    machine.run(&Spirv, &text.replace("OpStore %x", "OpStore %v"));
    let tags = machine.events.last().map(|e| e.tags);
    assert_eq!(tags, Some(Tags::NONE), "nobody else sees the invocation's own memory");
}

#[test]
fn atomics_have_scope_order_and_storage_classes() {
    let common = tag::C_A | tag::NONPRIV;
    let acquire = tag::C_ACQ | tag::SEM_UNIFORM | tag::SEMVIS;
    let both = tag::C_ACQ | tag::C_REL | tag::SEM_WORKGROUP | tag::SEMAV | tag::SEMVIS;
    for (text, what, tags) in [
        ("%r = OpAtomicLoad %uint %x %c1 %c0", What::Load, tag::DV | tag::VIS),
        (
            "%r = OpAtomicLoad %uint %x %c2 %acquire_buffers",
            What::Load,
            tag::WG | tag::VIS | acquire,
        ),
        ("OpAtomicStore %x %c3 %release %c1", What::Store, tag::SG | tag::AV | tag::C_REL),
        (
            "%r = OpAtomicIAdd %uint %x %c5 %both_groups %c1",
            What::Rmw,
            tag::QF | tag::AV | tag::VIS | both,
        ),
        (
            "%r = OpAtomicExchange %uint %x %c0 %all_buffers %c1",
            What::Rmw,
            tag::SY
                | tag::AV
                | tag::VIS
                | tag::C_ACQ
                | tag::C_REL
                | tag::C_SC
                | tag::SEM_UNIFORM
                | tag::SEM_CROSSWORKGROUP,
        ),
    ] {
        assert_eq!(events(text), [(what, common | tags)], "{text}");
    }
}

#[test]
fn a_vector_of_booleans_holds_wholly_or_in_some_part() {
    for (a, b, all, any) in [(1, 1, 1, 1), (1, 0, 0, 1), (0, 0, 0, 0)] {
        let truth = |n: i32| format!("OpIEqual %bool %c1 %c{n}");
        let text = format!(
            "%bools = OpTypeVector %bool 2\n%a = {}\n%b = {}\n%both = OpCompositeConstruct %bools %a %b\n\
             %all = OpAll %bool %both\n%any = OpAny %bool %both",
            truth(a),
            truth(b)
        );
        let machine = run(&text);
        assert_eq!((machine.reg("%all"), machine.reg("%any")), (all, any));
    }
}

#[test]
fn a_control_barrier_releases_meets_and_acquires() {
    let fence = |tags: Tags| (What::Fence, tag::C_PART | tags);
    let (classes, scope) = (tag::SEM_WORKGROUP, tag::DV);
    assert_eq!(
        events("OpControlBarrier %c2 %c1 %both_groups"),
        [
            fence(scope | classes | tag::C_REL | tag::SEMAV),
            fence(tag::CBAR | tag::WG),
            fence(scope | classes | tag::C_ACQ | tag::SEMVIS),
        ]
    );
    assert_eq!(events("OpControlBarrier %c2 %c2 %c0"), [fence(tag::CBAR | tag::WG)]);
    assert_eq!(events("OpMemoryBarrier %c1 %c0"), [], "without an order it orders nothing");
}

#[test]
fn the_storage_class_belongs_to_the_location() {
    let machine = Machine::default();
    let mut machine = machine;
    let code = machine.code(&Spirv, DECLARED).expect("reads");
    let classes: Vec<(u16, Tags)> = code.locations;
    let of = |name: &str| machine.names.0.iter().position(|n| n == name).expect("named") as u16;
    assert!(classes.contains(&(of("x"), tag::UNIFORM)));
    assert!(classes.contains(&(of("g"), tag::WORKGROUP)));
    assert!(!classes.iter().any(|(location, _)| *location == of("v")));
}

#[test]
fn what_is_not_understood_is_named() {
    for (text, why) in [
        ("%r = OpFAdd %uint %c1 %c2", "OpFAdd"),
        ("%r = OpLoad %uint %x NontemporalX", "NontemporalX"),
        ("%f = OpTypePointer Input %uint\n%i = OpVariable %f Input", "Input"),
        ("%f = OpTypeFloat 32\n%z = OpConstant %f 1", "no integer"),
        ("OpMemoryBarrier %c5 %n1", "at most one order"),
        ("OpMemoryBarrier %b255 %c0", "the scope 255"),
        ("%r = OpFunctionCall %uint %f", "a call"),
        ("OpMemoryModel Logical GLSL450", "GLSL450"),
        ("%r = OpIAdd %uint %missing %c1", "%missing"),
        ("OpBranch %nowhere", "%nowhere"),
        ("%f = OpFunction %v None %v\n%h = OpFunction %v None %v", "second function"),
        ("%r = OpAtomicFAddEXT %uint %x %c1 %c0 %c1", "OpAtomicFAddEXT"),
    ] {
        let e = refusal(text);
        assert!(e.contains(why), "{text}: {e}");
    }
}
