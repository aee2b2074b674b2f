//! Tests of threads from modules, given as text.

use super::*;
use litmake_isa::Isa;
use litmake_isa::spirv::Spirv;
use litmake_litmus::Anything;

/// A function `P0` with one parameter that calls another function in a loop, as `spirv-dis` prints
/// it.
const TEXT: &str = r#"
; SPIR-V
               OpCapability Kernel
          %1 = OpExtInstImport "OpenCL.std"
               OpMemoryModel Physical64 OpenCL
               OpName %20 "P0"
               OpDecorate %20 LinkageAttributes "t0_P0" Export
               OpDecorate %21 LinkageAttributes "helper" Export
          %2 = OpTypeInt 32 0
          %3 = OpTypePointer CrossWorkgroup %2
          %4 = OpTypeVoid
          %5 = OpTypeFunction %4 %3
          %6 = OpTypeFunction %2 %2
          %7 = OpTypeBool
          %8 = OpConstant %2 1
          %9 = OpConstant %2 0
         %10 = OpConstant %2 516
         %11 = OpTypePointer Function %2
         %12 = OpConstant %2 77
         %13 = OpTypePointer CrossWorkgroup %2
         %14 = OpVariable %13 CrossWorkgroup %12
         %20 = OpFunction %4 None %5
         %30 = OpFunctionParameter %3
         %31 = OpLabel
         %32 = OpVariable %11 Function
               OpBranch %33
         %33 = OpLabel
         %34 = OpPhi %2 %9 %31 %35 %33
         %35 = OpFunctionCall %2 %21 %34
               OpAtomicStore %30 %8 %10 %35
         %36 = OpLoad %2 %14 Aligned 4
         %37 = OpULessThan %7 %35 %36
               OpLoopMerge %38 %33 None
               OpBranchConditional %37 %33 %38
         %38 = OpLabel
               OpStore %32 %35
               OpReturn
               OpFunctionEnd
         %21 = OpFunction %2 None %6
         %40 = OpFunctionParameter %2
         %41 = OpLabel
         %42 = OpIEqual %7 %40 %9
               OpSelectionMerge %43 None
               OpBranchConditional %42 %43 %44
         %43 = OpLabel
               OpReturnValue %8
         %44 = OpLabel
         %45 = OpIAdd %2 %40 %8
               OpReturnValue %45
               OpFunctionEnd
"#;

fn made(text: &str) -> Result<(String, Vec<InitItem>), String> {
    let wanted = [("t0_P0".to_string(), vec!["x".to_string()])];
    let given = Given { threads: &wanted, globals: &[], first: None };
    let (bodies, init) = threads(text, &given).map_err(|e| e.text())?;
    let Some(Body::Asm(lines)) = bodies.first() else { panic!("one thread of instructions") };
    let source = litmake_base::diag::Source::new("t", "");
    Spirv.thread(&source, lines, &mut Anything).map_err(|e| e.to_string())?;
    let text: Vec<&str> = lines.iter().map(|l| l.text.as_str()).collect();
    Ok((text.join("\n"), init))
}

#[test]
fn calls_are_written_out_and_parameters_are_locations() {
    let (text, init) = made(TEXT).expect("a thread");
    for part in [
        "OpMemoryModel Physical64 OpenCL",
        "%uint32 = OpTypeInt 32 0",
        "%uint32_516 = OpConstant %uint32 516",
        "%x = OpVariable %CrossWorkgroup_uint32 CrossWorkgroup",
        "OpAtomicStore %x %uint32_1 %uint32_516",
        "%module_14 = OpVariable",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(!text.contains("OpFunctionCall") && !text.contains("Merge"), "{text}");
    // The phi of the loop names the block after the call, in which its own block now ends.
    let labels: Vec<&str> = text.lines().filter_map(|l| l.strip_suffix(" = OpLabel")).collect();
    let phi = text.lines().find(|l| l.contains("OpPhi")).expect("a phi");
    let back = phi.split(' ').next_back().expect("a block");
    assert!(labels.contains(&back) && back != labels[1], "{phi}\n{text}");
    assert_eq!(init.len(), 1);
    let value = litmake_litmus::InitValue::One(litmake_litmus::Value::Int(77));
    assert_eq!(init[0].value, Some(value), "what the module says of its variable");
}

#[test]
fn equal_code_has_equal_text() {
    let other = TEXT.replace("%3", "%103").replace("%4", "%204").replace("%21", "%77");
    assert_eq!(made(TEXT).expect("a thread").0, made(&other).expect("a thread").0);
}

#[test]
fn what_has_no_form_as_a_thread_is_refused_by_name() {
    for (from, to, why) in [
        ("%3 = OpTypePointer CrossWorkgroup", "%3 = OpTypePointer Function", "invocation's own"),
        ("%3 = OpTypePointer CrossWorkgroup", "%3 = OpTypePointer Generic", "Generic"),
        ("%45 = OpIAdd %2 %40 %8", "%45 = OpFunctionCall %2 %21 %40", "without end"),
        ("%45 = OpIAdd %2 %40 %8", "%45 = OpFunctionCall %2 %99 %40", "no function"),
        ("%45 = OpIAdd %2 %40 %8", "%45 = OpFRem %2 %40 %8", "OpFRem"),
        ("\"t0_P0\"", "\"t0_P1\"", "no function `t0_P0`"),
        ("%30 = OpFunctionParameter %3", "", "0 parameters where the test gives 1"),
        ("OpAtomicStore %30 %8", "OpAtomicStore %30 %12", "scope 77"),
        ("Physical64 OpenCL", "Logical GLSL450", "GLSL450"),
    ] {
        assert!(TEXT.contains(from), "{from}");
        let e = made(&TEXT.replace(from, to)).expect_err(to);
        assert!(e.contains(why), "{to}: {e}");
    }
}

/// A shader with two threads that are told apart by the number of the workgroup, as front ends
/// print it. The second thread also branches on something else.
const SHADER: &str = r#"
               OpMemoryModel Logical Vulkan
               OpEntryPoint GLCompute %4 "main" %11 %44
               OpDecorate %11 DescriptorSet 0
               OpDecorate %11 Binding 3
               OpDecorate %44 BuiltIn WorkgroupId
          %2 = OpTypeVoid
          %3 = OpTypeFunction %2
          %7 = OpTypeBool
          %8 = OpTypeInt 32 0
          %9 = OpTypeVector %8 3
         %10 = OpTypePointer StorageBuffer %8
         %11 = OpVariable %10 StorageBuffer
         %16 = OpConstant %8 1
         %21 = OpConstant %8 0
         %43 = OpTypePointer Input %9
         %44 = OpVariable %43 Input
         %45 = OpTypePointer Input %8
          %4 = OpFunction %2 None %3
          %5 = OpLabel
         %46 = OpAccessChain %45 %44 %21
         %47 = OpLoad %8 %46
               OpSelectionMerge %50 None
               OpSwitch %47 %50 0 %48 1 %49
         %48 = OpLabel
               OpAtomicStore %11 %16 %21 %16
               OpBranch %50
         %49 = OpLabel
         %53 = OpAtomicLoad %8 %11 %16 %21
         %54 = OpIEqual %7 %53 %16
               OpBranchConditional %54 %55 %50
         %55 = OpLabel
               OpAtomicStore %11 %16 %21 %21
               OpBranch %50
         %50 = OpLabel
         %56 = OpPhi %8 %21 %5 %16 %48 %16 %49 %16 %55
               OpReturn
               OpFunctionEnd
"#;

fn workgroups(text: &str) -> Result<[String; 2], String> {
    let wanted = [("main".to_string(), vec![]), ("main".to_string(), vec![])];
    let globals = [(binding(0, 3), "x".to_string())];
    let given = Given { threads: &wanted, globals: &globals, first: Some(0) };
    let (bodies, _) = threads(text, &given).map_err(|e| e.text())?;
    let source = litmake_base::diag::Source::new("t", "");
    let texts = bodies.iter().map(|body| {
        let Body::Asm(lines) = body else { panic!("a thread of instructions") };
        Spirv.thread(&source, lines, &mut Anything).map_err(|e| e.to_string())?;
        Ok(lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>().join("\n"))
    });
    let texts: Vec<String> = texts.collect::<Result<_, String>>()?;
    Ok(texts.try_into().expect("two threads"))
}

#[test]
fn a_workgroup_has_the_code_that_it_reaches() {
    let [first, second] = workgroups(SHADER).expect("threads");
    let count = |text: &str, part: &str| text.matches(part).count();
    assert_eq!((count(&first, "OpAtomicStore"), count(&first, "OpAtomicLoad")), (1, 0), "{first}");
    assert_eq!(
        (count(&second, "OpAtomicStore"), count(&second, "OpAtomicLoad")),
        (1, 1),
        "{second}"
    );
    assert!(first.contains("%x = OpVariable") && !first.contains("WorkgroupId"), "{first}");
    assert_eq!(
        (count(&first, "OpBranchConditional"), count(&second, "OpBranchConditional")),
        (0, 1)
    );
    // A block that is not reached gives no value to a phi.
    let joined = |text: &str| {
        let phi = text.lines().find(|l| l.contains("OpPhi")).expect("a phi").to_string();
        phi.split_whitespace().skip(4).count() / 2
    };
    // The first block has only one successor in each workgroup, and is still there.
    assert_eq!((joined(&first), joined(&second)), (2, 3), "{first}\n{second}");
}

#[test]
fn a_number_that_is_not_followed_is_computed() {
    // Results of arithmetic are left to the simulator.
    let text = SHADER.replace("OpSwitch %47", "%57 = OpIAdd %8 %47 %21\n OpSwitch %57");
    let [first, second] = workgroups(&text).expect("threads");
    for (text, number) in [(&first, "0"), (&second, "1")] {
        assert_eq!(text.matches("OpAtomicStore").count(), 2, "{text}");
        let held = format!("%uint32_{number}");
        let holds = text.lines().find(|l| l.contains("OpConstantComposite")).expect("the number");
        assert!(holds.contains(&held), "{holds}\n{text}");
        assert!(text.contains("%WorkgroupId = OpVariable %Private_vector Private"), "{text}");
    }
    let e = workgroups(&text.replace("BuiltIn WorkgroupId", "BuiltIn LocalInvocationId"));
    assert!(e.expect_err("no number").contains("LocalInvocationId"));
}
