//! The declarations of a module: types, constants, variables, decorations, the memory model.
//!
//! It does not know what instructions compute.

use std::collections::HashMap;
use std::rc::Rc;

use super::types::{Class, Type};
use super::{Instruction, Named};
use litmake_litmus::{Symbols, Type as Place};
use litmake_ops::{Tags, Val, mask, tag};

/// The memory model that a module is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Accesses say themselves whether others see them.
    Vulkan,
    /// Every access is visible to the accesses that it happens before.
    OpenCl,
}

/// A constant: the values of its scalars.
#[derive(Clone, Debug)]
pub struct Constant {
    pub ty: Rc<Type>,
    pub values: Vec<u128>,
}

/// A variable: the location that it names.
#[derive(Clone, Debug)]
pub struct Variable {
    pub ty: Rc<Type>,
    pub place: Val,
    class: Class,
}

pub struct Declared<'a> {
    pub types: Named<'a, Rc<Type>>,
    pub constants: Named<'a, Constant>,
    pub variables: Named<'a, Variable>,
    /// The types of the results of instructions.
    pub values: Named<'a, Rc<Type>>,
    /// The line of each label.
    pub labels: Named<'a, u32>,
    pub rules: Rules,
}

/// Instructions without an effect on a function's behaviour.
const SILENT: &[&str] = &[
    "OpCapability",
    "OpExtension",
    "OpExtInstImport",
    "OpEntryPoint",
    "OpExecutionMode",
    "OpExecutionModeId",
    "OpSource",
    "OpSourceExtension",
    "OpSourceContinued",
    "OpString",
    "OpName",
    "OpMemberName",
    "OpModuleProcessed",
    "OpDecorate",
    "OpDecorateId",
    "OpMemberDecorate",
    "OpMemoryModel",
    "OpLine",
    "OpNoLine",
    "OpNop",
    "OpFunction",
    "OpFunctionEnd",
    "OpLabel",
    "OpLoopMerge",
    "OpSelectionMerge",
    "OpLifetimeStart",
    "OpLifetimeStop",
];

type Read<T> = Result<T, String>;

/// Decorations that decide the layout in memory.
#[derive(Default)]
struct Layout<'a> {
    offsets: HashMap<(&'a str, u64), u64>,
    strides: HashMap<&'a str, u64>,
}

impl<'a> Declared<'a> {
    /// Reads the declarations; an error comes with the line that it is in.
    pub fn read(
        lines: &[Instruction<'a>],
        symbols: &mut dyn Symbols,
    ) -> Result<Declared<'a>, (usize, String)> {
        let mut out = Declared {
            types: Named::new(),
            constants: Named::new(),
            variables: Named::new(),
            values: Named::new(),
            labels: Named::new(),
            rules: Rules::Vulkan,
        };
        let mut layout = Layout::default();
        for (at, line) in lines.iter().enumerate() {
            out.prepare(line, at, &mut layout).map_err(|what| (at, what))?;
        }
        let mut functions = 0;
        for (at, line) in lines.iter().enumerate() {
            functions += usize::from(line.op == "OpFunction");
            if functions > 1 {
                return Err((at, "unsupported: a second function; calls are written out".into()));
            }
            out.declare(line, &layout, symbols).map_err(|what| (at, what))?;
        }
        Ok(out)
    }

    /// Whether an instruction is a declaration or has no effect on behaviour.
    pub fn is_declaration(op: &str) -> bool {
        op.is_empty()
            || SILENT.contains(&op)
            || op.starts_with("OpType")
            || op.starts_with("OpConstant")
    }

    /// The annotations that every access to a location of the test has.
    pub fn classes(&self) -> Vec<(u16, Tags)> {
        let mut out: Vec<(u16, Tags)> = Vec::new();
        for variable in self.variables.values() {
            let tags = match variable.class {
                Class::Uniform => tag::UNIFORM,
                Class::Workgroup => tag::WORKGROUP,
                Class::CrossWorkgroup => tag::CROSSWORKGROUP,
                Class::Own | Class::Generic => continue,
            };
            if let Val::Ptr { loc, .. } = variable.place {
                out.push((loc, tags));
            }
        }
        // In the order of locations, since names are in none.
        out.sort_unstable();
        out
    }

    pub fn ty(&self, id: &str) -> Read<&Rc<Type>> {
        self.types.get(id).ok_or_else(|| format!("the type {id} is not declared"))
    }

    /// The type of a value, a constant or a variable.
    pub fn type_of(&self, id: &str) -> Read<&Rc<Type>> {
        let constant = || self.constants.get(id).map(|c| &c.ty);
        let variable = || self.variables.get(id).map(|v| &v.ty);
        let found = self.values.get(id).or_else(constant).or_else(variable);
        found.ok_or_else(|| format!("{id} is not declared"))
    }

    /// The type that a pointer points to.
    pub fn pointee(&self, pointer: &Type) -> Read<&Rc<Type>> {
        match pointer {
            Type::Pointer { to, .. } => self.ty(to),
            _ => Err("expected a pointer".into()),
        }
    }

    /// A constant of one scalar.
    pub fn number(&self, id: &str) -> Read<u128> {
        match self.constants.get(id).map(|c| &c.values[..]) {
            Some([one]) => Ok(*one),
            _ => Err(format!("unsupported: {id} is not a constant number")),
        }
    }

    /// Labels, decorations and the model, which other lines may need before they stand.
    fn prepare(&mut self, line: &Instruction<'a>, at: usize, layout: &mut Layout<'a>) -> Read<()> {
        match (line.op, &line.operands[..]) {
            ("OpLabel", _) => {
                let id = line.result.ok_or("a label without a name")?;
                if self.labels.insert(id, at as u32).is_some() {
                    return Err(format!("the label {id} is there twice"));
                }
            }
            ("OpMemberDecorate", [of, member, "Offset", n]) => {
                layout.offsets.insert((of, literal(member)?), literal(n)?);
            }
            ("OpDecorate", [of, "ArrayStride", n]) => {
                layout.strides.insert(of, literal(n)?);
            }
            ("OpMemoryModel", [_, model]) => {
                self.rules = match *model {
                    "Vulkan" | "VulkanKHR" => Rules::Vulkan,
                    "OpenCL" => Rules::OpenCl,
                    _ => return Err(format!("unsupported: the memory model {model}")),
                };
            }
            _ => {}
        }
        Ok(())
    }

    fn declare(
        &mut self,
        line: &Instruction<'a>,
        layout: &Layout<'a>,
        symbols: &mut dyn Symbols,
    ) -> Read<()> {
        let Some(id) = line.result else { return Ok(()) };
        if line.op.starts_with("OpType") {
            let ty = Rc::new(self.type_declared(id, line, layout)?);
            self.types.insert(id, ty);
            return Ok(());
        }
        if line.op.starts_with("OpConstant") {
            let ty = self.ty(line.operand(0)?)?.clone();
            let values = self.constant(line, &ty)?;
            self.constants.insert(id, Constant { ty, values });
            return Ok(());
        }
        if line.op == "OpVariable" {
            let ty = self.ty(line.operand(0)?)?.clone();
            let class = Class::named(line.operand(1)?)?;
            let name = id.trim_start_matches('%');
            let loc = match class {
                Class::Own => symbols.own(name, &place(self.pointee(&ty)?)?),
                Class::Generic => {
                    return Err("unsupported: a variable of the storage class Generic".into());
                }
                _ if line.operands.len() > 2 => {
                    return Err("a location's value belongs into the initial state, not into an initialiser".into());
                }
                _ => symbols.location(name),
            };
            let place = Val::Ptr { loc, off: 0 };
            self.variables.insert(id, Variable { ty, place, class });
            return Ok(());
        }
        // Of all else that has a type, the type comes first.
        if let Some(ty) = line.operands.first().and_then(|t| self.types.get(t)) {
            let ty = ty.clone();
            if self.values.insert(id, ty).is_some() {
                return Err(format!("{id} is assigned twice"));
            }
        }
        Ok(())
    }

    fn type_declared(&self, id: &str, line: &Instruction<'a>, layout: &Layout) -> Read<Type> {
        let stride = layout.strides.get(id).copied();
        Ok(match line.op {
            "OpTypeVoid" => Type::Void,
            "OpTypeBool" => Type::Bool,
            "OpTypeInt" => match literal(line.operand(0)?)? {
                bits @ (8 | 16 | 32 | 64) => Type::Int(bits as u8),
                bits => return Err(format!("unsupported: integers of {bits} bits")),
            },
            "OpTypePointer" => {
                let class = Class::named(line.operand(0)?);
                Type::Pointer { class, to: line.operand(1)?.to_string(), stride }
            }
            "OpTypeArray" | "OpTypeVector" | "OpTypeRuntimeArray" => {
                let of = self.ty(line.operand(0)?)?.clone();
                let len = match line.op {
                    "OpTypeArray" => self.number(line.operand(1)?)? as u64,
                    "OpTypeVector" => literal(line.operand(1)?)?,
                    _ => 0,
                };
                let stride = stride.unwrap_or_else(|| of.size());
                Type::Array { of, len, stride }
            }
            "OpTypeStruct" => {
                let mut fields = Vec::new();
                for (n, field) in line.operands.iter().enumerate() {
                    let said = layout.offsets.get(&(id, n as u64)).copied();
                    fields.push((self.ty(field)?.clone(), said));
                }
                Type::structure(fields)
            }
            op => Type::Other(format!("unsupported: the type {}", op.trim_start_matches("OpType"))),
        })
    }

    fn constant(&self, line: &Instruction<'a>, ty: &Type) -> Read<Vec<u128>> {
        Ok(match line.op {
            "OpConstantTrue" => vec![1],
            "OpConstantFalse" => vec![0],
            "OpConstantNull" => vec![0; ty.scalars()?.len()],
            "OpConstant" => {
                let Type::Int(bits) = ty else {
                    return Err("unsupported: a constant that is no integer".into());
                };
                vec![integer(line.operand(1)?)? & mask(*bits)]
            }
            "OpConstantComposite" => {
                let mut all = Vec::new();
                for part in &line.operands[1..] {
                    let part = self.constants.get(part);
                    all.extend(part.ok_or("a part that is no constant")?.values.iter().copied());
                }
                all
            }
            op => return Err(format!("unsupported: the constant {op}")),
        })
    }
}

pub fn literal(text: &str) -> Read<u64> {
    text.parse().map_err(|_| format!("expected a number, found `{text}`"))
}

/// A literal of an integer, in two's complement.
pub fn integer(text: &str) -> Read<u128> {
    let number = crate::microcode::parse_int(text);
    number.map(|n| n as u128).ok_or_else(|| format!("expected a number, found `{text}`"))
}

/// The bytes of a variable of one invocation.
fn place(ty: &Type) -> Read<Place> {
    let byte = Place::Int { bytes: 1, signed: false };
    Ok(match ty {
        Type::Bool | Type::Int(_) | Type::Pointer { .. } => {
            Place::Int { bytes: ty.size() as u8, signed: false }
        }
        ty => {
            ty.scalars()?;
            Place::Array(byte.into(), ty.size())
        }
    })
}
