//! SPIR-V modules as words: sections, numbers of what is defined, types and constants once each,
//! structured control flow. It knows nothing of tests.

use std::collections::HashMap;

/// The number that names the result of an instruction.
pub type Id = u32;

/// Opcodes, by their names in the specification.
pub mod op {
    pub const EXTENSION: u16 = 10;
    pub const EXT_INST_IMPORT: u16 = 11;
    pub const EXT_INST: u16 = 12;
    pub const MEMORY_MODEL: u16 = 14;
    pub const ENTRY_POINT: u16 = 15;
    pub const EXECUTION_MODE: u16 = 16;
    pub const CAPABILITY: u16 = 17;
    pub const TYPE_VOID: u16 = 19;
    pub const TYPE_BOOL: u16 = 20;
    pub const TYPE_INT: u16 = 21;
    pub const TYPE_VECTOR: u16 = 23;
    pub const TYPE_ARRAY: u16 = 28;
    pub const TYPE_RUNTIME_ARRAY: u16 = 29;
    pub const TYPE_STRUCT: u16 = 30;
    pub const TYPE_POINTER: u16 = 32;
    pub const TYPE_FUNCTION: u16 = 33;
    pub const CONSTANT: u16 = 43;
    pub const FUNCTION: u16 = 54;
    pub const FUNCTION_PARAMETER: u16 = 55;
    pub const FUNCTION_END: u16 = 56;
    pub const FUNCTION_CALL: u16 = 57;
    pub const VARIABLE: u16 = 59;
    pub const LOAD: u16 = 61;
    pub const STORE: u16 = 62;
    pub const ACCESS_CHAIN: u16 = 65;
    pub const ARRAY_LENGTH: u16 = 68;
    pub const DECORATE: u16 = 71;
    pub const MEMBER_DECORATE: u16 = 72;
    pub const I_ADD: u16 = 128;
    pub const I_SUB: u16 = 130;
    pub const I_MUL: u16 = 132;
    pub const U_MOD: u16 = 137;
    pub const LOGICAL_AND: u16 = 167;
    pub const I_EQUAL: u16 = 170;
    pub const U_LESS_THAN: u16 = 176;
    pub const CONTROL_BARRIER: u16 = 224;
    pub const MEMORY_BARRIER: u16 = 225;
    pub const ATOMIC_LOAD: u16 = 227;
    pub const ATOMIC_STORE: u16 = 228;
    pub const ATOMIC_EXCHANGE: u16 = 229;
    pub const ATOMIC_I_ADD: u16 = 234;
    pub const ATOMIC_I_SUB: u16 = 235;
    pub const ATOMIC_AND: u16 = 240;
    pub const ATOMIC_OR: u16 = 241;
    pub const ATOMIC_XOR: u16 = 242;
    pub const PHI: u16 = 245;
    pub const LOOP_MERGE: u16 = 246;
    pub const SELECTION_MERGE: u16 = 247;
    pub const LABEL: u16 = 248;
    pub const BRANCH: u16 = 249;
    pub const BRANCH_CONDITIONAL: u16 = 250;
    pub const RETURN: u16 = 253;
}

/// Storage classes.
pub mod class {
    pub const INPUT: u32 = 1;
    pub const UNIFORM: u32 = 2;
    pub const WORKGROUP: u32 = 4;
    pub const FUNCTION: u32 = 7;
    pub const STORAGE_BUFFER: u32 = 12;
}

/// Decorations.
pub mod decoration {
    pub const BLOCK: u32 = 2;
    pub const ARRAY_STRIDE: u32 = 6;
    pub const BUILT_IN: u32 = 11;
    pub const NON_WRITABLE: u32 = 24;
    pub const BINDING: u32 = 33;
    pub const DESCRIPTOR_SET: u32 = 34;
    pub const OFFSET: u32 = 35;
}

const MAGIC: u32 = 0x0723_0203;
/// 1.3: what every Vulkan from 1.1 on takes.
const VERSION: u32 = 0x0001_0300;

/// A section of a module: instructions one after the other.
#[derive(Default)]
struct Section(Vec<u32>);

impl Section {
    fn put(&mut self, opcode: u16, operands: &[u32]) {
        self.0.push(((operands.len() as u32 + 1) << 16) | u32::from(opcode));
        self.0.extend_from_slice(operands);
    }
}

/// A text as words: bytes, a zero, zeros up to the next word.
fn literal(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Two ways that meet again.
pub struct Fork {
    other: Id,
    merge: Id,
}

/// A loop under way.
pub struct Loop {
    header: Id,
    inside: Id,
    next: Id,
    merge: Id,
    /// How often its body ran.
    pub i: Id,
    after: Id,
}

/// A module under way. Instructions of functions go to its end.
#[derive(Default)]
pub struct Module {
    last: Id,
    capabilities: Section,
    extensions: Section,
    imports: Section,
    memory_model: Section,
    entry_points: Section,
    modes: Section,
    decorations: Section,
    globals: Section,
    functions: Section,
    /// Variables of the function under way, which come before all else in its first block.
    locals: Section,
    /// Where those go.
    locals_at: usize,
    known: HashMap<(u16, Vec<u32>), Id>,
    /// The block under way.
    block: Id,
}

impl Module {
    pub fn id(&mut self) -> Id {
        self.last += 1;
        self.last
    }

    pub fn capability(&mut self, capability: u32) {
        self.capabilities.put(op::CAPABILITY, &[capability]);
    }

    pub fn extension(&mut self, name: &str) {
        self.extensions.put(op::EXTENSION, &literal(name));
    }

    pub fn import(&mut self, name: &str) -> Id {
        let id = self.id();
        self.imports.put(op::EXT_INST_IMPORT, &[&[id], &literal(name)[..]].concat());
        id
    }

    /// Logical addresses, and a memory model.
    pub fn memory_model(&mut self, model: u32) {
        self.memory_model.put(op::MEMORY_MODEL, &[0, model]);
    }

    /// A compute shader with workgroups of one dimension; `inputs` are the variables of that class.
    pub fn entry_point(&mut self, function: Id, name: &str, workgroup: u32, inputs: &[Id]) {
        self.entry_points
            .put(op::ENTRY_POINT, &[&[5, function], &literal(name)[..], inputs].concat());
        self.modes.put(op::EXECUTION_MODE, &[function, 17, workgroup, 1, 1]);
    }

    pub fn decorate(&mut self, of: Id, decoration: &[u32]) {
        self.decorations.put(op::DECORATE, &[&[of], decoration].concat());
    }

    pub fn decorate_member(&mut self, of: Id, member: u32, decoration: &[u32]) {
        self.decorations.put(op::MEMBER_DECORATE, &[&[of, member], decoration].concat());
    }

    /// A type, once however often it is asked for.
    pub fn ty(&mut self, opcode: u16, operands: &[u32]) -> Id {
        if let Some(id) = self.known.get(&(opcode, operands.to_vec())) {
            return *id;
        }
        let id = self.own_ty(opcode, operands);
        self.known.insert((opcode, operands.to_vec()), id);
        id
    }

    /// A type of its own, which can be decorated apart from others that look the same.
    pub fn own_ty(&mut self, opcode: u16, operands: &[u32]) -> Id {
        let id = self.id();
        self.globals.put(opcode, &[&[id], operands].concat());
        id
    }

    pub fn u32(&mut self) -> Id {
        self.ty(op::TYPE_INT, &[32, 0])
    }

    pub fn bool(&mut self) -> Id {
        self.ty(op::TYPE_BOOL, &[])
    }

    pub fn pointer(&mut self, class: u32, to: Id) -> Id {
        self.ty(op::TYPE_POINTER, &[class, to])
    }

    /// A number of 32 bits.
    pub fn number(&mut self, value: u32) -> Id {
        let ty = self.u32();
        let key = (op::CONSTANT, vec![ty, value]);
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.id();
        self.globals.put(op::CONSTANT, &[ty, id, value]);
        self.known.insert(key, id);
        id
    }

    pub fn global(&mut self, class: u32, ty: Id) -> Id {
        let (pointer, id) = (self.pointer(class, ty), self.id());
        self.globals.put(op::VARIABLE, &[pointer, id, class]);
        id
    }

    /// Begins a function without a result; returns its number and those of its parameters.
    pub fn function(&mut self, parameters: &[Id]) -> (Id, Vec<Id>) {
        let void = self.ty(op::TYPE_VOID, &[]);
        let ty = self.ty(op::TYPE_FUNCTION, &[&[void], parameters].concat());
        let id = self.id();
        self.functions.put(op::FUNCTION, &[void, id, 0, ty]);
        let mut given = Vec::new();
        for ty in parameters {
            let p = self.id();
            self.functions.put(op::FUNCTION_PARAMETER, &[*ty, p]);
            given.push(p);
        }
        let label = self.id();
        self.label(label);
        self.locals_at = self.functions.0.len();
        (id, given)
    }

    pub fn end_function(&mut self) {
        self.put(op::RETURN, &[]);
        self.put(op::FUNCTION_END, &[]);
        let locals = std::mem::take(&mut self.locals.0);
        self.functions.0.splice(self.locals_at..self.locals_at, locals);
    }

    /// A variable of the function under way.
    pub fn local(&mut self, ty: Id) -> Id {
        let (pointer, id) = (self.pointer(class::FUNCTION, ty), self.id());
        self.locals.put(op::VARIABLE, &[pointer, id, class::FUNCTION]);
        id
    }

    /// Adds an instruction without a result.
    pub fn put(&mut self, opcode: u16, operands: &[u32]) {
        self.functions.put(opcode, operands);
    }

    /// Adds an instruction whose result has a type.
    pub fn get(&mut self, opcode: u16, ty: Id, operands: &[u32]) -> Id {
        let id = self.id();
        self.functions.put(opcode, &[&[ty, id], operands].concat());
        id
    }

    /// Adds an instruction whose result is a number.
    pub fn calc(&mut self, opcode: u16, operands: &[u32]) -> Id {
        let ty = self.u32();
        self.get(opcode, ty, operands)
    }

    /// Adds an instruction whose result is a truth value.
    pub fn test(&mut self, opcode: u16, operands: &[u32]) -> Id {
        let ty = self.bool();
        self.get(opcode, ty, operands)
    }

    fn label(&mut self, id: Id) {
        self.put(op::LABEL, &[id]);
        self.block = id;
    }

    /// Begins the code that runs if a condition holds.
    pub fn fork(&mut self, condition: Id) -> Fork {
        let (then, other, merge) = (self.id(), self.id(), self.id());
        self.put(op::SELECTION_MERGE, &[merge, 0]);
        self.put(op::BRANCH_CONDITIONAL, &[condition, then, other]);
        self.label(then);
        Fork { other, merge }
    }

    /// Begins the code that runs if the condition does not hold.
    pub fn otherwise(&mut self, fork: &Fork) {
        self.put(op::BRANCH, &[fork.merge]);
        self.label(fork.other);
    }

    pub fn join(&mut self, fork: Fork) {
        self.put(op::BRANCH, &[fork.merge]);
        self.label(fork.merge);
    }

    /// Begins a loop that counts from 0, with the code of its condition.
    pub fn count_up(&mut self) -> Loop {
        let before = self.block;
        let (header, check, inside, next, merge) =
            (self.id(), self.id(), self.id(), self.id(), self.id());
        let (zero, ty) = (self.number(0), self.u32());
        let (i, after) = (self.id(), self.id());
        self.put(op::BRANCH, &[header]);
        self.label(header);
        self.put(op::PHI, &[ty, i, zero, before, after, next]);
        self.put(op::LOOP_MERGE, &[merge, next, 0]);
        self.put(op::BRANCH, &[check]);
        self.label(check);
        Loop { header, inside, next, merge, i, after }
    }

    /// Begins the body of a loop, which runs while a condition holds.
    pub fn goes_on(&mut self, on: &Loop, condition: Id) {
        self.put(op::BRANCH_CONDITIONAL, &[condition, on.inside, on.merge]);
        self.label(on.inside);
    }

    pub fn end_loop(&mut self, on: Loop) {
        let (one, ty) = (self.number(1), self.u32());
        self.put(op::BRANCH, &[on.next]);
        self.label(on.next);
        self.put(op::I_ADD, &[ty, on.after, on.i, one]);
        self.put(op::BRANCH, &[on.header]);
        self.label(on.merge);
    }

    pub fn words(self) -> Vec<u32> {
        let mut out = vec![MAGIC, VERSION, 0, self.last + 1, 0];
        for section in [
            self.capabilities,
            self.extensions,
            self.imports,
            self.memory_model,
            self.entry_points,
            self.modes,
            self.decorations,
            self.globals,
            self.functions,
        ] {
            out.extend(section.0);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_with_a_zero() {
        assert_eq!(literal("abc"), [0x0063_6261]);
        assert_eq!(literal("abcd"), [0x6463_6261, 0]);
        assert_eq!(literal(""), [0]);
    }

    #[test]
    fn types_and_numbers_are_there_once() {
        let mut m = Module::default();
        assert_eq!((m.u32(), m.number(5)), (m.u32(), m.number(5)));
        assert_ne!(m.number(5), m.number(6));
        let words = m.words();
        assert_eq!(words[..2], [MAGIC, VERSION]);
        // The bound is above every number, and the lengths of instructions cover the words.
        let mut at = 5;
        while at < words.len() {
            at += (words[at] >> 16) as usize;
        }
        assert_eq!((at, words[3]), (words.len(), 4));
    }
}
