//! Reduces a shader's `main` to the blocks that the workgroup with a given number reaches.
//!
//! A shader runs all threads of a test, and branches on this number. Only values that follow from
//! the number are known here; where a branch depends on anything else, both sides stay. It does not
//! know models.

use std::collections::{BTreeMap, BTreeSet};

use super::module::{Function, Line, Module};

/// The known value of a name.
#[derive(Clone, Copy, PartialEq)]
enum Followed {
    /// The address of the number, or of the vector that contains it.
    Place {
        whole: bool,
    },
    Vector,
    Number(u64),
}

/// The function without the blocks that this workgroup does not reach.
pub fn narrow(module: &Module, f: &Function, workgroup: u32) -> Function {
    let mut blocks: BTreeMap<&str, &[Line]> = BTreeMap::new();
    let starts: Vec<usize> = (0..f.body.len()).filter(|&i| f.body[i].op == "OpLabel").collect();
    for (n, &start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(f.body.len());
        if let Some(name) = &f.body[start].result {
            blocks.insert(name, &f.body[start..end]);
        }
    }
    let mut known: BTreeMap<String, Followed> = BTreeMap::new();
    for (id, what) in &module.built_in {
        if what == "WorkgroupId" {
            known.insert(id.clone(), Followed::Place { whole: true });
        }
    }
    for line in &module.declarations {
        if let (Some(id), "OpConstant", Some(Ok(number))) =
            (&line.result, line.op.as_str(), line.operands.get(1).map(|n| n.parse()))
        {
            known.insert(id.clone(), Followed::Number(number));
        }
    }
    // A block is visited after the blocks on all ways to it, so their values are known.
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut decided: BTreeMap<&str, String> = BTreeMap::new();
    let mut todo: Vec<&str> =
        f.body.first().and_then(|l| l.result.as_deref()).into_iter().collect();
    while let Some(name) = todo.pop() {
        let Some((&name, &lines)) = blocks.get_key_value(name) else { continue };
        if !reached.insert(name) {
            continue;
        }
        for line in lines {
            if let (Some(id), Some(value)) = (&line.result, value(line, &known, workgroup)) {
                known.insert(id.clone(), value);
            }
        }
        let Some(last) = lines.last() else { continue };
        match target(last, &known) {
            Some(to) => {
                decided.insert(name, to.to_string());
                todo.push(to);
            }
            None => todo.extend(last.operands.iter().map(String::as_str)),
        }
    }
    let mut body = Vec::new();
    for &start in &starts {
        let Some(name) = f.body[start].result.as_deref() else { continue };
        let Some(lines) = blocks.get(name).filter(|_| reached.contains(name)) else { continue };
        for (n, line) in lines.iter().enumerate() {
            let mut line = line.clone();
            if let Some(to) = decided.get(name).filter(|_| n + 1 == lines.len()) {
                line = Line { result: None, op: "OpBranch".into(), operands: vec![to.clone()] };
            }
            if line.op == "OpPhi" {
                let pairs = line.operands[1..].chunks(2);
                let kept = pairs.filter(|p| p.get(1).is_some_and(|b| reached.contains(b.as_str())));
                let kept: Vec<String> = kept.flatten().cloned().collect();
                line.operands.truncate(1);
                line.operands.extend(kept);
            }
            body.push(line);
        }
    }
    drop_unused(&mut body, &known);
    Function { params: f.params.clone(), body }
}

/// The value of an instruction, if it follows from the number of the workgroup.
fn value(line: &Line, known: &BTreeMap<String, Followed>, workgroup: u32) -> Option<Followed> {
    let operand = |i: usize| line.operands.get(i).and_then(|o| known.get(o)).copied();
    let vector = |part: u64| Followed::Number(if part == 0 { u64::from(workgroup) } else { 0 });
    match (line.op.as_str(), operand(1)?) {
        ("OpLoad", Followed::Place { whole: true }) => Some(Followed::Vector),
        ("OpLoad", Followed::Place { whole: false }) => Some(vector(0)),
        // Only the first component is followed.
        ("OpAccessChain" | "OpInBoundsAccessChain", Followed::Place { whole: true }) => {
            (operand(2)? == Followed::Number(0)).then_some(Followed::Place { whole: false })
        }
        ("OpCompositeExtract", Followed::Vector) => {
            Some(vector(line.operands.get(2)?.parse().ok()?))
        }
        ("OpCopyObject" | "OpBitcast", number @ Followed::Number(_)) => Some(number),
        ("OpIEqual" | "OpINotEqual", Followed::Number(a)) => {
            let Followed::Number(b) = operand(2)? else { return None };
            Some(Followed::Number(u64::from((a == b) == (line.op == "OpIEqual"))))
        }
        _ => None,
    }
}

/// The block to which a block's last instruction branches, if that is known.
fn target<'l>(last: &'l Line, known: &BTreeMap<String, Followed>) -> Option<&'l str> {
    let Followed::Number(number) = *known.get(last.operands.first()?)? else { return None };
    let operands = &last.operands;
    match last.op.as_str() {
        "OpBranchConditional" => operands.get(if number != 0 { 1 } else { 2 }),
        "OpSwitch" => {
            let case = operands[2..].chunks(2).find(|c| c[0].parse() == Ok(number));
            case.map_or(operands.get(1), |c| c.get(1))
        }
        _ => None,
    }
    .map(String::as_str)
}

/// Removes unused instructions that compute known values or addresses.
fn drop_unused(body: &mut Vec<Line>, known: &BTreeMap<String, Followed>) {
    let mut used: BTreeSet<String> = BTreeSet::new();
    body.reverse();
    body.retain(|line| {
        // Front ends compute the addresses of all buffers at the beginning of `main`.
        let is_address = matches!(line.op.as_str(), "OpAccessChain" | "OpInBoundsAccessChain");
        let keep = line
            .result
            .as_ref()
            .is_none_or(|id| used.contains(id) || !is_address && !known.contains_key(id));
        if keep {
            used.extend(line.operands.iter().cloned());
        }
        keep
    });
    body.reverse();
}
