//! A test as a script for Amber: the modules by their files, the buffers of one iteration, and the outcomes
//! that must not be counted. It does not know how tests are laid out.

use std::fmt::Write;

/// The content of a script.
pub struct Script<'a> {
    /// Lines of comment.
    pub about: &'a str,
    /// Features that the device needs.
    pub features: &'a [&'a str],
    /// The storage buffers, by binding.
    pub buffers: Vec<Buffer>,
    /// The parameters of each iteration, and how many workgroups it has.
    pub iterations: Vec<(Vec<u32>, u32)>,
    /// How often all of them are repeated.
    pub repeat: u32,
    /// The workgroups of the passes before and after.
    pub all: u32,
    /// The entry points, each in a file of its own beside the script: before all iterations, of an
    /// iteration, after it.
    pub modules: [&'static str; 3],
    /// The outcomes that must not be counted, by number; those that were seen with their names.
    pub forbidden: Vec<(usize, Option<String>)>,
}

/// A storage buffer.
pub struct Buffer {
    pub name: &'static str,
    pub content: Content,
}

/// The initial content of a buffer.
pub enum Content {
    Zeros(u64),
    Words(Vec<u32>),
}

/// The numbers on a line.
const LINE: usize = 16;
/// The buffer with the counts, which the script looks at.
pub const COUNTERS: &str = "counters";

pub fn script(script: &Script) -> String {
    let mut out = String::from("#!amber\n");
    // Writing to a string does not fail.
    for line in script.about.lines() {
        let _ = writeln!(out, "# {line}");
    }
    out.push('\n');
    for feature in script.features {
        let _ = writeln!(out, "DEVICE_FEATURE {feature}");
    }
    for name in script.modules {
        let _ = writeln!(out, "SHADER compute {name}_shader SPIRV-BIN FILE {name}.spv");
    }
    out.push('\n');
    for Buffer { name, content } in &script.buffers {
        match content {
            Content::Zeros(words) => {
                let _ = writeln!(out, "BUFFER {name} DATA_TYPE uint32 SIZE {words} FILL 0");
            }
            Content::Words(words) => data(name, words, &mut out),
        }
    }
    for (i, (params, _)) in script.iterations.iter().enumerate() {
        data(&format!("params{i}"), params, &mut out);
    }
    for entry in script.modules {
        // Each iteration of the test has its parameters; the other passes look at none that change.
        let count = if entry == "test" { script.iterations.len() } else { 1 };
        for i in 0..count {
            let _ = writeln!(out, "\nPIPELINE compute {entry}{i}");
            let _ = writeln!(out, "  ATTACH {entry}_shader ENTRY_POINT {entry}");
            for (binding, buffer) in script.buffers.iter().enumerate() {
                let name = buffer.name;
                let _ = writeln!(
                    out,
                    "  BIND BUFFER {name} AS storage DESCRIPTOR_SET 0 BINDING {binding}"
                );
            }
            let binding = script.buffers.len();
            let _ = writeln!(
                out,
                "  BIND BUFFER params{i} AS uniform DESCRIPTOR_SET 0 BINDING {binding}\nEND"
            );
        }
    }
    let all = script.all;
    let _ = writeln!(out, "\nRUN prepare0 {all} 1 1\nREPEAT {}", script.repeat);
    for (i, (_, workgroups)) in script.iterations.iter().enumerate() {
        let _ = writeln!(out, "RUN test{i} {workgroups} 1 1\nRUN count0 {all} 1 1");
    }
    out += "END\n\n# What the memory model forbids.\n";
    // Those that were seen come first: a script ends at the first that does not hold.
    for (index, name) in &script.forbidden {
        if let Some(name) = name {
            let _ = writeln!(out, "# {name}\nEXPECT {COUNTERS} IDX {} EQ 0", 4 * index);
        }
    }
    for (first, count) in runs(script.forbidden.iter().map(|(i, _)| *i)) {
        let zeros = vec!["0"; count].join(" ");
        let _ = writeln!(out, "EXPECT {COUNTERS} IDX {} EQ {zeros}", 4 * first);
    }
    out
}

fn data(name: &str, words: &[u32], out: &mut String) {
    let _ = writeln!(out, "BUFFER {name} DATA_TYPE uint32 DATA");
    for line in words.chunks(LINE) {
        let line: Vec<String> = line.iter().map(u32::to_string).collect();
        let _ = writeln!(out, "{}", line.join(" "));
    }
    out.push_str("END\n");
}

/// Numbers that go up, as runs: the first of each and how many.
fn runs(numbers: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for n in numbers {
        match out.last_mut() {
            Some((first, count)) if *first + *count == n && *count < LINE => *count += 1,
            _ => out.push((n, 1)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_what_it_runs_and_what_must_not_show() {
        let text = script(&Script {
            about: "two\nlines",
            features: &["shaderInt64"],
            buffers: vec![
                Buffer { name: "memory", content: Content::Zeros(8) },
                Buffer { name: COUNTERS, content: Content::Words(vec![0; 17]) },
            ],
            iterations: vec![(vec![1, 2], 3), (vec![1, 5], 4)],
            repeat: 7,
            all: 2,
            modules: ["prepare", "test", "count"],
            forbidden: vec![(1, None), (2, Some("r0=1;".into())), (4, None)],
        });
        for part in [
            "#!amber\n# two\n# lines\n",
            "DEVICE_FEATURE shaderInt64\n",
            "SHADER compute prepare_shader SPIRV-BIN FILE prepare.spv\n",
            "BUFFER memory DATA_TYPE uint32 SIZE 8 FILL 0\n",
            "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n0\nEND\n",
            "BUFFER params1 DATA_TYPE uint32 DATA\n1 5\nEND\n",
            "PIPELINE compute test1\n  ATTACH test_shader ENTRY_POINT test\n",
            "  BIND BUFFER params1 AS uniform DESCRIPTOR_SET 0 BINDING 2\nEND\n",
            "REPEAT 7\nRUN test0 3 1 1\nRUN count0 2 1 1\nRUN test1 4 1 1\nRUN count0 2 1 1\nEND\n",
            "# r0=1;\nEXPECT counters IDX 8 EQ 0\n",
            "EXPECT counters IDX 4 EQ 0 0\nEXPECT counters IDX 16 EQ 0\n",
        ] {
            assert!(text.contains(part), "{part}\n---\n{text}");
        }
    }
}
