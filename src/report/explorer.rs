//! Builds links that open Compiler Explorer with a source, a compiler and its flags.
//!
//! The link contains everything: the site accepts a state as JSON in base64 (`/clientstate/`), with
//! characters beyond ASCII escaped. This module makes no network requests and knows nothing of
//! findings.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use litmake_base::plain;

const SITE: &str = "https://godbolt.org/clientstate/";

/// The input of a compiler.
pub struct Given<'a> {
    /// `c`, `c++` or `rust`.
    pub language: &'a str,
    /// The source code.
    pub source: &'a str,
    /// The site's name for the compiler. Where none is known, the flags become a comment in the
    /// source.
    pub compiler: Option<String>,
    /// The compiler's flags.
    pub args: &'a [String],
}

/// The link that opens this input.
pub fn link(given: &Given) -> String {
    let options: Vec<String> = given.args.iter().map(|a| plain::word(a)).collect();
    let options = options.join(" ");
    let mut session = serde_json::json!({
        "id": 1,
        "language": given.language,
        "source": given.source,
        "compilers": [],
    });
    match &given.compiler {
        Some(id) => {
            session["compilers"] = serde_json::json!([{ "id": id, "options": options }]);
        }
        None => session["source"] = format!("// flags: {options}\n{}", given.source).into(),
    }
    let state = serde_json::json!({ "sessions": [session] });
    format!("{SITE}{}", URL_SAFE_NO_PAD.encode(ascii(&state.to_string())))
}

/// JSON with all other characters than ASCII escaped.
fn ascii(json: &str) -> String {
    let mut out = String::new();
    for c in json.chars() {
        match c {
            ' '..='~' => out.push(c),
            c => {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                units.iter().for_each(|u| out.push_str(&format!("\\u{u:04x}")));
            }
        }
    }
    out
}

/// The site's name for a compiler. `tool` is `gcc`, `g++`, `clang` or `clang++`, `prefix` is the
/// prefix of a gcc's name (`riscv64-linux-gnu-`), and `version` is the version as the compiler
/// prints it.
pub fn compiler(tool: &str, prefix: &str, version: &str) -> Option<String> {
    let (major, minor) = numbers(version)?;
    let c = match tool {
        "gcc" | "clang" => "c",
        "g++" | "clang++" => "",
        _ => return None,
    };
    if tool.starts_with("clang") {
        // The site keeps the last release of each series.
        let of_series = match major {
            13 => "1301".to_string(),
            14..=16 => format!("{major}00"),
            17 => "1701".to_string(),
            18.. => format!("{major}10"),
            _ => return None,
        };
        return Some(format!("{c}clang{of_series}"));
    }
    let target = match prefix {
        "" | "x86_64-linux-gnu-" => return Some(format!("{c}g{major}{minor}")),
        // Names of older cross compilers follow no rule.
        _ if major < 12 => return None,
        "aarch64-linux-gnu-" => format!("{c}arm64g"),
        "arm-linux-gnueabihf-" => format!("{c}armg"),
        "powerpc64le-linux-gnu-" => format!("{c}ppc64leg"),
        "mips64el-linux-gnuabi64-" => format!("{c}mips64elg"),
        "mips64-linux-gnuabi64-" => format!("{c}mips64g"),
        "riscv64-linux-gnu-" => format!("rv64-{c}gcc"),
        _ => return None,
    };
    Some(format!("{target}{major}{minor}0"))
}

/// The first two numbers of the last version in a text.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let words = version.split(|c: char| c.is_whitespace() || "()".contains(c)).rev();
    words
        .filter_map(|word| {
            let mut parts = word.split('.');
            let major = parts.next()?.parse().ok()?;
            let minor = parts.next()?.parse().ok()?;
            Some((major, minor))
        })
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state in a link, decoded as the site decodes it.
    fn state(link: &str) -> serde_json::Value {
        let coded = link.strip_prefix(SITE).expect("a link to the site");
        let json = URL_SAFE_NO_PAD.decode(coded).expect("base64");
        assert!(json.is_ascii());
        serde_json::from_slice(&json).expect("JSON")
    }

    #[test]
    fn a_link_holds_the_source_and_the_flags() {
        let source = "int f(void) {\n  return \"é🦀\"[0] > 0 ? 1 : 2; // ÿ?>>~\n}\n";
        let args = ["--target=x86_64-linux-gnu".to_string(), "-DA=b c".to_string(), "-O2".into()];
        let id = compiler("clang", "", "Debian clang version 15.0.6");
        let given = Given { language: "c", source, compiler: id, args: &args };
        let state = state(&link(&given));
        let session = &state["sessions"][0];
        assert_eq!(session["language"], "c");
        assert_eq!(session["source"], source);
        assert_eq!(session["compilers"][0]["id"], "cclang1500");
        let options = session["compilers"][0]["options"].as_str().expect("options");
        assert!(options.contains("--target=x86_64-linux-gnu") && options.ends_with(" -O2"));
        assert!(options.contains("'-DA=b c'"), "{options}");
    }

    #[test]
    fn where_the_site_has_no_such_compiler_the_flags_are_in_the_source() {
        let args = ["-O3".to_string()];
        let given = Given { language: "c", source: "int x;\n", compiler: None, args: &args };
        let state = state(&link(&given));
        assert_eq!(state["sessions"][0]["source"], "// flags: -O3\nint x;\n");
        assert_eq!(state["sessions"][0]["compilers"].as_array().map(Vec::len), Some(0));
    }

    #[test]
    fn compilers_have_the_names_that_the_site_lists() {
        for (tool, prefix, version, expected) in [
            ("clang", "", "Debian clang version 13.0.1-11+b2", Some("cclang1301")),
            ("clang++", "", "Debian clang version 16.0.6 (15~deb12u1)", Some("clang1600")),
            ("clang", "", "Debian clang version 22.1.8 (1~deb12u1)", Some("cclang2210")),
            ("gcc", "", "gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0", Some("cg122")),
            ("g++", "", "g++ (GCC) 15.2.0", Some("g152")),
            ("gcc", "riscv64-linux-gnu-", "riscv64-linux-gnu-gcc-12 12.2.0", Some("rv64-cgcc1220")),
            ("gcc", "powerpc64le-linux-gnu-", "gcc 12.2.0", Some("cppc64leg1220")),
            ("gcc", "aarch64-linux-gnu-", "gcc 11.3.0", None),
            ("rustc", "", "rustc 1.90.0", None),
            ("clang", "", "something else", None),
        ] {
            assert_eq!(compiler(tool, prefix, version).as_deref(), expected, "{tool} {version}");
        }
    }
}
