//! Tests of the C room.

use super::*;
use crate::diag::{Source, Span};
use crate::isa::Symbols;
use crate::isa::ops::Code;
use crate::litmus::Type;

struct Names(Vec<(String, Type)>);
impl Symbols for Names {
    fn location(&mut self, name: &str) -> u16 {
        self.declare(name, &Type::INT)
    }
    fn declare(&mut self, name: &str, ty: &Type) -> u16 {
        match self.0.iter().position(|(n, _)| n == name) {
            Some(i) => i as u16,
            None => {
                self.0.push((name.to_string(), ty.clone()));
                (self.0.len() - 1) as u16
            }
        }
    }
}

#[test]
fn survey() {
    let Ok(list) = std::env::var("SURVEY") else {
        return;
    };
    let mut ok = 0;
    let mut bad = 0;
    for path in std::fs::read_to_string(list).unwrap().lines() {
        let text = std::fs::read_to_string(path).unwrap();
        // bodies
        let b = text.as_bytes();
        // blank (* *) comments
        let mut t = text.clone().into_bytes();
        let mut i = 0;
        let mut depth = 0;
        while i + 1 < b.len() {
            if b[i] == b'(' && b[i + 1] == b'*' && (i == 0 || b[i - 1] == b'\n') {
                depth += 1;
            }
            if depth > 0 {
                t[i] = if b[i] == b'\n' { b'\n' } else { b' ' };
            }
            if depth > 0 && b[i] == b'*' && b[i + 1] == b')' {
                depth -= 1;
                t[i + 1] = b' ';
                i += 1;
            }
            i += 1;
        }
        let text = String::from_utf8(t).unwrap();
        let b = text.as_bytes();
        let mut i = text.find('}').unwrap_or(0) + 1;
        let src = Source::new(path, text.as_str());
        let mut err = None;
        let mut n = 0;
        loop {
            let Some(open) = text[i..].find('{').map(|x| i + x) else {
                break;
            };
            let head = text[i..open].trim_start();
            if !head.contains('(') {
                break;
            }
            let start = open - head.len();
            let start = start + text[start..open].rfind("\n\n").map_or(0, |x| x + 2);
            let mut d = 0;
            let mut j = open;
            while j < b.len() {
                if b[j] == b'{' {
                    d += 1
                } else if b[j] == b'}' {
                    d -= 1;
                    if d == 0 {
                        break;
                    }
                }
                j += 1;
            }
            if j >= b.len() {
                break;
            }
            n += 1;
            let r = parse_function(&src, Span::new(start, j + 1)).and_then(|f| {
                let s = print_function(&f);
                let s2 = Source::new("printed", s.as_str());
                let g = parse_function(&s2, Span::new(0, s.len()))?;
                assert_eq!(f, g, "{s}");
                lower::thread(&src, &f, &[], &mut Names(vec![]))
            });
            if let Err(e) = r {
                err = Some(e);
                break;
            }
            i = j + 1;
        }
        match err {
            Some(e) => {
                bad += 1;
                println!("{e}\n");
            }
            None => {
                ok += 1;
                if n == 0 {
                    println!("NOTHREADS {path}");
                }
            }
        }
    }
    println!("ok {ok} bad {bad}");
}

fn _c(_: Code) {}
