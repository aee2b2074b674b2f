//! Reads a SPIR-V module in the form that `spirv-dis` prints: its declarations and functions.
//!
//! Debug names, source lines and capabilities have no meaning for tests and are left out. It does
//! not know what instructions do.

use std::collections::BTreeMap;

use litmake_isa::spirv::Instruction;

/// An instruction with owned words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub result: Option<String>,
    pub op: String,
    pub operands: Vec<String>,
}

impl Line {
    /// The instruction as printed, with names replaced.
    pub fn text(&self, name: impl Fn(&str) -> String) -> String {
        let mut out = match &self.result {
            Some(id) => format!("{} = {}", name(id), self.op),
            None => self.op.clone(),
        };
        for operand in &self.operands {
            out.push(' ');
            match operand.starts_with('%') {
                true => out.push_str(&name(operand)),
                false => out.push_str(operand),
            }
        }
        out
    }
}

#[derive(Clone, Debug, Default)]
pub struct Function {
    /// The names and types of parameters.
    pub params: Vec<(String, String)>,
    pub body: Vec<Line>,
}

#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Types, constants and variables, in order.
    pub declarations: Vec<Line>,
    /// Decorations that give the layout of types.
    pub layout: Vec<Line>,
    pub model: Option<Line>,
    pub functions: BTreeMap<String, Function>,
    /// Pairs of a variable and the built-in value that it holds.
    pub built_in: BTreeMap<String, String>,
    /// For each exported name, the name in the module.
    pub exported: BTreeMap<String, String>,
}

/// Instructions that have no effect on a function's meaning.
const SILENT: &[&str] = &[
    "OpLine",
    "OpNoLine",
    "OpNop",
    "OpLoopMerge",
    "OpSelectionMerge",
    "OpLifetimeStart",
    "OpLifetimeStop",
    "OpAssumeTrueKHR",
];

impl Module {
    pub fn read(text: &str) -> Result<Module, String> {
        let mut module = Module::default();
        let mut named: BTreeMap<String, String> = BTreeMap::new();
        let mut open: Option<(String, Function)> = None;
        // The descriptor set and binding number of each buffer.
        let mut bound: BTreeMap<String, [Option<usize>; 2]> = BTreeMap::new();
        for line in text.lines() {
            let Instruction { result, op, operands } = Instruction::read(line);
            if op.is_empty() || SILENT.contains(&op) {
                continue;
            }
            let line = Line {
                result: result.map(str::to_string),
                op: op.to_string(),
                operands: operands.iter().map(|o| o.to_string()).collect(),
            };
            match (op, &operands[..], &mut open) {
                ("OpFunction", ..) => {
                    let id = line.result.ok_or("a function without a name")?;
                    open = Some((id, Function::default()));
                }
                ("OpFunctionEnd", ..) => {
                    let (id, function) = open.take().ok_or("the end of no function")?;
                    module.functions.insert(id, function);
                }
                ("OpFunctionParameter", [ty, ..], Some((_, function))) => {
                    let id = line.result.ok_or("a parameter without a name")?;
                    function.params.push((id, ty.to_string()));
                }
                (_, _, Some((_, function))) => function.body.push(line),
                ("OpMemoryModel", ..) => module.model = Some(line),
                ("OpDecorate", [_, "ArrayStride", ..], _)
                | ("OpMemberDecorate", [_, _, "Offset", ..], _) => module.layout.push(line),
                ("OpDecorate", [id, what @ ("DescriptorSet" | "Binding"), number], _) => {
                    let number = number.parse().map_err(|_| "a binding that is no number")?;
                    bound.entry(id.to_string()).or_default()[usize::from(*what == "Binding")] =
                        Some(number);
                }
                ("OpDecorate", [id, "BuiltIn", name], _) => {
                    module.built_in.insert(id.to_string(), name.to_string());
                }
                ("OpDecorate", [id, "LinkageAttributes", name, "Export"], _) => {
                    module.exported.insert(unquoted(name), id.to_string());
                }
                ("OpEntryPoint", [_, id, name, ..], _) => {
                    module.exported.insert(unquoted(name), id.to_string());
                }
                ("OpName", [id, name], _) => {
                    named.insert(unquoted(name), id.to_string());
                }
                _ if op.starts_with("OpType")
                    || op.starts_with("OpConstant")
                    || op.starts_with("OpSpecConstant")
                    || matches!(op, "OpVariable" | "OpUndef" | "OpExtInstImport") =>
                {
                    module.declarations.push(line);
                }
                _ => {}
            }
        }
        if open.is_some() {
            return Err("a function that does not end".into());
        }
        for (id, at) in bound {
            if let [Some(set), Some(number)] = at {
                module.exported.insert(super::binding(set, number), id);
            }
        }
        for (name, id) in named {
            module.exported.entry(name).or_insert(id);
        }
        Ok(module)
    }
}

fn unquoted(text: &str) -> String {
    text.trim_matches('"').to_string()
}
