//! Macros that a test defines (`#define`), put in token by token, as a preprocessor does. It knows no grammar.

use rustc_hash::FxHashMap;

use super::lex::{Kind, Tok, Token, tokens};
use litmake_base::diag::{Diag, Result, Source, Span};

/// How many tokens the macros of one function may stand for.
const MAX_TOKENS: usize = 100_000;

/// Headers whose contents tests have without them.
const HEADERS: [&str; 12] = [
    "<atomic>",
    "<cstddef>",
    "<cstdint>",
    "<cstdlib>",
    "<inttypes.h>",
    "<stdalign.h>",
    "<stdatomic.h>",
    "<stdbool.h>",
    "<stddef.h>",
    "<stdint.h>",
    "<stdlib.h>",
    "<threads.h>",
];

/// The macros of a test, by their names.
#[derive(Default)]
pub struct Defines<'a>(FxHashMap<&'a str, Define<'a>>);

struct Define<'a> {
    /// `None` for a macro that is called without parentheses.
    params: Option<Vec<&'a str>>,
    body: Vec<Token<'a>>,
}

impl<'a> Defines<'a> {
    /// Reads the line of a preprocessor, which ends before a line break that no `\` stands before.
    pub fn line(&mut self, source: &'a Source, span: Span) -> Result<()> {
        let (start, end) = (span.start as usize, span.end as usize);
        let text = source.text[start..end].trim_end();
        let words = text[1..].trim_start();
        let error = |message: &str| Diag::at(source, span, message);
        if let Some(name) = words.strip_prefix("include") {
            return match HEADERS.contains(&name.trim()) {
                true => Ok(()),
                false => Err(error("only headers of the standard are included here")
                    .help("write what the test needs of the header into the test")),
            };
        }
        let Some(rest) = words.strip_prefix("define").filter(|r| r.starts_with([' ', '\t'])) else {
            return Err(error(
                "of the preprocessor's lines only `#define` and `#include` are read",
            )
            .help("write out what the line stands for"));
        };
        let mut all: Vec<Token> = Vec::new();
        let mut at = end - (source.text[start..end].len() - text.len()) - rest.len();
        for line in rest.split_inclusive('\n') {
            let piece = line.trim_end_matches(['\r', '\n']);
            let piece = piece.strip_suffix('\\').unwrap_or(piece);
            all.extend(tokens(source, Span::new(at, at + piece.len()))?);
            // The end of each piece is no end.
            all.pop();
            at += line.len();
        }
        let mut all = all.into_iter().peekable();
        let name = match all.next() {
            Some(Token { tok: Tok::Word(word, _), span }) => (word, span),
            _ => return Err(error("expected a name behind `#define`")),
        };
        // Parentheses that follow at once are those of parameters.
        let opens = |t: &Token| t.tok == Tok::Punct("(") && t.span.start == name.1.end;
        let params = match all.next_if(opens) {
            Some(_) => Some(params(source, name.1, &mut all)?),
            None => None,
        };
        if self.0.insert(name.0, Define { params, body: all.collect() }).is_some() {
            let message = format!("the macro `{}` is defined twice", name.0);
            return Err(Diag::at(source, name.1, message).help("keep one of the two"));
        }
        Ok(())
    }

    /// The tokens with what the macros among them stand for.
    pub fn put_in(&self, source: &Source, tokens: Vec<Token<'a>>) -> Result<Vec<Token<'a>>> {
        if self.0.is_empty() {
            return Ok(tokens);
        }
        let mut out = Vec::with_capacity(tokens.len());
        self.expand(source, &tokens, &mut Vec::new(), &mut out)?;
        Ok(out)
    }

    /// `inside` are the macros that are being put in: none stands for itself.
    fn expand(
        &self,
        source: &Source,
        tokens: &[Token<'a>],
        inside: &mut Vec<&'a str>,
        out: &mut Vec<Token<'a>>,
    ) -> Result<()> {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            if out.len() > MAX_TOKENS {
                return Err(Diag::at(
                    source,
                    token.span,
                    "the macros of this function stand for too much",
                ));
            }
            let known = match token.tok {
                Tok::Word(name, _) if !inside.contains(&name) => {
                    self.0.get(name).map(|define| (name, define))
                }
                _ => None,
            };
            let Some((name, define)) = known else {
                out.push(*token);
                continue;
            };
            let mut args: Vec<&[Token]> = Vec::new();
            if let Some(params) = &define.params {
                // The name alone is no call.
                if tokens.get(at).is_none_or(|t| t.tok != Tok::Punct("(")) {
                    out.push(*token);
                    continue;
                }
                let (found, end) = arguments(source, token.span, &tokens[at + 1..])?;
                at += 1 + end;
                // `f()` has one empty argument, or none.
                let none = params.is_empty() && matches!(&found[..], [only] if only.is_empty());
                args = if none { Vec::new() } else { found };
                if args.len() != params.len() {
                    let (want, got) = (params.len(), args.len());
                    let s = if want == 1 { "" } else { "s" };
                    let message =
                        format!("the macro `{name}` takes {want} argument{s}, found {got}");
                    return Err(Diag::at(source, token.span, message));
                }
            }
            let mut body: Vec<Token> = Vec::new();
            for part in &define.body {
                let param = match (part.tok, &define.params) {
                    (Tok::Word(word, _), Some(params)) => params.iter().position(|p| *p == word),
                    _ => None,
                };
                match param {
                    Some(i) => self.expand(source, args[i], inside, &mut body)?,
                    // Errors point to where the macro is used.
                    None => body.push(Token { span: token.span, ..*part }),
                }
            }
            inside.push(name);
            self.expand(source, &body, inside, out)?;
            inside.pop();
        }
        Ok(())
    }
}

/// The names up to the closing parenthesis.
fn params<'a>(
    source: &Source,
    name: Span,
    all: &mut impl Iterator<Item = Token<'a>>,
) -> Result<Vec<&'a str>> {
    let mut out: Vec<&str> = Vec::new();
    loop {
        match all.next().map(|t| t.tok) {
            Some(Tok::Punct(")")) if out.is_empty() => return Ok(out),
            Some(Tok::Word(word, Kind::Name)) if !out.contains(&word) => out.push(word),
            _ => {
                let message = "expected the names of the macro's parameters, each once";
                return Err(Diag::at(source, name, message));
            }
        }
        match all.next().map(|t| t.tok) {
            Some(Tok::Punct(",")) => {}
            Some(Tok::Punct(")")) => return Ok(out),
            _ => {
                let message = "expected `,` or `)` behind a parameter of the macro";
                return Err(Diag::at(source, name, message));
            }
        }
    }
}

/// The arguments of a call, and how many tokens they take with the closing parenthesis.
fn arguments<'t, 'a>(
    source: &Source,
    name: Span,
    tokens: &'t [Token<'a>],
) -> Result<(Vec<&'t [Token<'a>]>, usize)> {
    let (mut out, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, token) in tokens.iter().enumerate() {
        match token.tok {
            Tok::Punct("(" | "{" | "[") => depth += 1,
            Tok::Punct(")") if depth == 0 => {
                out.push(&tokens[start..i]);
                return Ok((out, i + 1));
            }
            Tok::Punct(")" | "}" | "]") => depth -= 1,
            Tok::Punct(",") if depth == 0 => {
                out.push(&tokens[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    Err(Diag::at(source, name, "the arguments of this macro have no end").help("write `)`"))
}

#[cfg(test)]
mod tests {
    use crate::c::print_function;
    use crate::{Body, read};
    use litmake_base::diag::Source;

    fn printed(lines: &str, body: &str) -> Result<String, String> {
        let text =
            format!("C t\n{{}}\n{lines}\nP0(atomic_int *x, int *d) {{ {body} }}\nexists (true)\n");
        let test = read(&Source::new("t.litmus", text)).map_err(|e| e.to_string())?;
        let [Body::C(f)] = &test.threads[..] else { panic!("it has one thread") };
        let printed = print_function(f);
        let lines: Vec<&str> = printed.lines().map(str::trim).collect();
        Ok(lines[1..lines.len() - 1].join(" "))
    }

    #[test]
    fn macros_are_put_in_as_a_preprocessor_does() {
        for (lines, body, expected) in [
            ("#define ONE 1", "*d = ONE;", "*d = 1;"),
            (
                "#include <stdatomic.h>\n#define RLX memory_order_relaxed\n#define LOAD(p) \\\n  atomic_load_explicit(p, RLX)",
                "int r = LOAD(x);",
                "int r = atomic_load_explicit(x, memory_order_relaxed);",
            ),
            // Arguments are tokens: parentheses are the business of the macro.
            ("#define TWICE(a) a * 2", "*d = TWICE(1 + 2);", "*d = 1 + 2 * 2;"),
            ("#define TWICE(a) ((a) * 2) // a remark", "*d = TWICE(1 + 2);", "*d = (1 + 2) * 2;"),
            // A macro does not stand for itself, and its name alone is no call.
            ("#define d d", "*d = 1;", "*d = 1;"),
            ("#define d(a) a", "*d = d(d(2));", "*d = 2;"),
            // A comma inside of parentheses ends no argument.
            (
                "#define SET(p, v) *p = v;\n#define NOTHING",
                "NOTHING SET(d, atomic_exchange(x, 2))",
                "*d = atomic_exchange(x, 2);",
            ),
            ("#define P (3)", "*d = P;", "*d = 3;"),
            ("#define SUM 1 \\\r\n + 2\r", "*d = SUM;", "*d = 1 + 2;"),
        ] {
            let found = printed(lines, body);
            assert_eq!(found.as_deref(), Ok(expected), "{lines}");
        }
    }

    #[test]
    fn errors_point_to_the_line_or_to_the_call() {
        for (lines, body, expected) in [
            ("#include \"mine.h\"", "", "t.litmus:3:1: error: only headers of the standard"),
            ("#if 1", "", "t.litmus:3:1: error: of the preprocessor's lines only"),
            ("#define A 1\n#define A 2", "", "t.litmus:4:9: error: the macro `A` is defined twice"),
            ("#define F(a, a) a", "", "t.litmus:3:9: error: expected the names"),
            (
                "#define F(a, b) a",
                "*d = F(1);",
                "t.litmus:4:34: error: the macro `F` takes 2 arguments, found 1",
            ),
            (
                "#define F(a) a",
                "*d = F(1;",
                "t.litmus:4:34: error: the arguments of this macro have no end",
            ),
            ("#define A r +", "*d = A;", "t.litmus:4:35: error: expected an expression"),
            ("#define", "", "t.litmus:3:1: error: of the preprocessor's lines only"),
        ] {
            let found = printed(lines, body).expect_err(lines);
            assert!(found.starts_with(expected), "{lines}: {found}");
        }
    }

    #[test]
    fn what_stands_for_too_much_is_refused() {
        let mut lines = "#define M0 1 + 1\n".to_string();
        for i in 1..30 {
            lines += &format!("#define M{i} M{} + M{}\n", i - 1, i - 1);
        }
        let found = printed(&lines, "*d = M29;").expect_err("it is too much");
        assert!(found.contains("stand for too much"), "{found}");
    }
}
