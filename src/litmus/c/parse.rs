//! Reads functions: types, declarations and statements. Expressions are in `parse_expr`.
//!
//! It knows syntax alone; which names mean what is for `lower`. Nesting is bounded, so that no
//! text can exhaust the stack, here or in what walks the tree.

use std::sync::Arc;

use super::ast::{Declarator, Expr, ExprKind, Function, Param, Stmt, StmtKind, Told};
use super::defines::Defines;
use super::lex::{Kind, Tok, Token, tokens};
use super::structs::{Member, Struct};
use super::types::{BOOL, qualify, size_of, typedef};
use crate::Type;
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_base::failure::FailureKind;

/// Bound of the nesting of statements, of parentheses, and of the height of expressions.
pub(super) const MAX_DEPTH: u32 = 96;
/// Bound of the pointers, arrays and parentheses in one declarator.
const MAX_DECLARATOR: u32 = 16;

/// Reads the text of one function, which starts at `span.start` and ends at `span.end`.
pub fn parse_function(source: &Source, span: Span) -> Result<Function> {
    Ok(parse_function_with(source, span, &[], &Defines::default())?.0)
}

/// Reads the text of one function of a test that defines structures and macros; also gives the variables of
/// their own storage that the function declares (`static int x;`), and the workgroup and the device on which a
/// thread runs, if its head says so (`P0@wg 0, dev 0`).
pub fn parse_function_with<'a>(
    source: &'a Source,
    span: Span,
    structs: &[Arc<Struct>],
    defines: &Defines<'a>,
) -> Result<(Function, Vec<Declarator>, Option<On>)> {
    let mut p = Parser::with(source, span, structs, defines)?;
    let function = p.function()?;
    p.end("after the function")?;
    Ok((function, p.variables, p.on))
}

/// Reads a declaration between functions, whose variables all functions see.
pub fn parse_variables<'a>(
    source: &'a Source,
    span: Span,
    structs: &[Arc<Struct>],
    defines: &Defines<'a>,
) -> Result<Vec<Declarator>> {
    let mut p = Parser::with(source, span, structs, defines)?;
    let base = p.specifiers()?;
    p.no_function_word()?;
    let list = p.declarators(&base)?;
    p.expect(";", "after the declaration")?;
    p.end("after the declaration")?;
    Ok(list)
}

/// Reads the definition of a structure or a union, `known` being those before it.
pub fn parse_definition<'a>(
    source: &'a Source,
    span: Span,
    known: &[Arc<Struct>],
    defines: &Defines<'a>,
) -> Result<Struct> {
    let mut p = Parser::with(source, span, known, defines)?;
    let definition = p.definition()?;
    p.end("after the definition")?;
    Ok(definition)
}

/// Reads a type without a name, such as `_Atomic uint64_t` or `int *`.
pub fn parse_type(source: &Source, span: Span) -> Result<Type> {
    let mut p = Parser::new(source, span)?;
    let ty = p.type_name()?;
    p.end("after the type")?;
    Ok(ty)
}

/// The numbers of the workgroup and of the device on which a thread runs.
pub type On = (u16, u16);

pub(super) struct Parser<'a> {
    pub source: &'a Source,
    tokens: Vec<Token<'a>>,
    /// Never past the last token.
    at: usize,
    pub depth: u32,
    /// The specifiers that were read last, the type left out.
    head: Head,
    /// The structures that the test defines.
    structs: Vec<Arc<Struct>>,
    /// The variables of their own storage that were declared.
    variables: Vec<Declarator>,
    /// Where the function runs.
    on: Option<On>,
}

/// The `asm` that is read.
const BARRIER: &str =
    "only a barrier for the compiler is: `__asm__ volatile(\"\" ::: \"memory\");`";

/// Refuses what defines a type, by the word that opens it.
#[cold]
pub fn no_definitions(source: &Source, span: Span, word: &str) -> Box<Diag> {
    let what = match word {
        "typedef" => "a type of one's own (`typedef`) is not read".to_string(),
        "enum" => "the constants of an `enum` are not read".to_string(),
        word => format!("a `{word}` is defined here"),
    };
    let help = match word {
        "typedef" => "write the type itself",
        "enum" => "write numbers",
        _ => {
            "define it by itself, with a name, before the functions: `struct s { int a; char b; };`"
        }
    };
    Diag::at(source, span, what).kind(FailureKind::Unsupported).help(help)
}

/// Words among specifiers that are no part of a type.
#[derive(Default)]
struct Head {
    told: Told,
    /// A word that only functions can have.
    function: Option<Span>,
    /// A word of storage that gives a variable a life of its own.
    storage: Option<Span>,
    /// `global` or `local`, which only parameters can have here.
    space: Option<Span>,
    /// It is `local`.
    local: bool,
}

/// What the words before a declarator say of its type.
#[derive(Default)]
struct Specifiers {
    start: Span,
    constant: bool,
    volatile: bool,
    atomic: bool,
    base: Option<Type>,
    signed: Option<bool>,
    size: Option<u8>,
    longs: u32,
    /// `int` is said.
    plain: bool,
}

impl Specifiers {
    /// Whether words are said that only integers have.
    fn is_number(&self) -> bool {
        self.signed.is_some() || self.size.is_some() || self.longs > 0 || self.plain
    }
}

impl<'a> Parser<'a> {
    pub fn new(source: &'a Source, span: Span) -> Result<Parser<'a>> {
        Ok(Parser {
            source,
            tokens: tokens(source, span)?,
            at: 0,
            depth: 0,
            head: Head::default(),
            structs: Vec::new(),
            variables: Vec::new(),
            on: None,
        })
    }

    /// Reads a text in which structures and macros of the test are known.
    fn with(
        source: &'a Source,
        span: Span,
        structs: &[Arc<Struct>],
        defines: &Defines<'a>,
    ) -> Result<Parser<'a>> {
        let p = Parser::new(source, span)?;
        let tokens = defines.put_in(source, p.tokens)?;
        Ok(Parser { tokens, structs: structs.to_vec(), ..p })
    }

    // Tokens.

    #[inline(always)]
    pub fn peek(&self) -> Tok<'a> {
        self.tokens[self.at].tok
    }

    pub fn peek_at(&self, n: usize) -> Tok<'a> {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + n).min(last)].tok
    }

    pub fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span of the token before.
    pub fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    #[inline]
    pub fn skip(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    #[inline]
    pub fn is(&self, punct: &str) -> bool {
        matches!(self.peek(), Tok::Punct(p) if p == punct)
    }

    #[inline]
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Tok::Word(w, _) if w == word)
    }

    #[inline]
    pub fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        if found {
            self.skip();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.skip();
        }
        found
    }

    #[inline]
    pub fn expect(&mut self, punct: &str, place: &str) -> Result<()> {
        if self.eat(punct) {
            return Ok(());
        }
        Err(self.missing(punct, place))
    }

    #[cold]
    fn missing(&self, punct: &str, place: &str) -> Box<Diag> {
        self.unexpected(&format!("`{punct}` {place}"))
    }

    fn end(&self, place: &str) -> Result<()> {
        match self.peek() {
            Tok::End => Ok(()),
            _ => Err(self.unexpected(&format!("nothing more {place}"))),
        }
    }

    #[cold]
    pub fn unexpected(&self, expected: &str) -> Box<Diag> {
        let found = match self.peek() {
            Tok::Word(w, _) => format!("`{w}`"),
            Tok::Int(i) => format!("`{}`", i.value),
            Tok::Float(f) => format!("`{f}`"),
            Tok::Text(_) => "a string".to_string(),
            Tok::Punct(p) => format!("`{p}`"),
            Tok::End => "the end".to_string(),
        };
        let diag =
            Diag::at(self.source, self.span(), format!("expected {expected}, found {found}"));
        match self.peek() {
            Tok::Word(w, _) if w == "switch" || w == "typedef" || w == "case" => {
                diag.help(format!("`{w}` is not part of the C subset; use `if`"))
            }
            _ => diag,
        }
    }

    /// Runs a reader one level deeper.
    pub fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep(self.span()));
        }
        self.depth += 1;
        let out = f(self);
        self.depth -= 1;
        out
    }

    #[cold]
    pub fn too_deep(&self, span: Span) -> Box<Diag> {
        Diag::at(self.source, span, "this is nested too deeply")
            .help(format!("at most {MAX_DEPTH} levels are read"))
    }

    pub fn name(&mut self, what: &str) -> Result<(String, Span)> {
        let span = self.span();
        match self.peek() {
            Tok::Word(w, Kind::Name) => {
                self.skip();
                Ok((w.to_string(), span))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    // Types.

    /// Whether a type begins `n` tokens ahead: with a keyword of types or a known name, or, where
    /// a statement begins, with an unknown name that only a declaration can begin with.
    pub fn type_at(&self, n: usize, statement: bool) -> bool {
        let Tok::Word(w, kind) = self.peek_at(n) else {
            return false;
        };
        match (kind, self.peek_at(n + 1)) {
            (Kind::Type, _) => true,
            (Kind::Reserved, _) => false,
            (Kind::Name, Tok::Punct("::")) if w == "std" => {
                matches!(self.peek_at(n + 2), Tok::Word("atomic", _) | Tok::Word(_, Kind::Type))
            }
            (Kind::Name, Tok::Punct("<")) if w == "atomic" => {
                // A variable can have this name, and be compared.
                let stars = (n + 3..).take_while(|k| self.peek_at(*k) == Tok::Punct("*")).count();
                matches!(self.peek_at(n + 2), Tok::Word("std", _) | Tok::Word(_, Kind::Type))
                    || (statement && self.peek_at(n + 3 + stars) == Tok::Punct(">"))
            }
            (Kind::Name, Tok::Word(_, Kind::Name)) => statement,
            _ => false,
        }
    }

    /// The words before a declarator: `const unsigned long`, `_Atomic(int*)`, `struct s`.
    fn specifiers(&mut self) -> Result<Type> {
        self.head = Head::default();
        let mut s = Specifiers { start: self.span(), ..Specifiers::default() };
        while let Tok::Word(w, kind) = self.peek() {
            if !self.specifier(w, kind, &mut s)? {
                break;
            }
        }
        if matches!(s.base, Some(Type::Float { .. })) && s.is_number() {
            let span = s.start.to(self.last_span());
            return Err(Diag::at(self.source, span, "this is no type")
                .help("types of numbers in floating point are `float` and `double`"));
        }
        // `_Atomic` in parentheses, as herd's printer writes it: `(int volatile)*`.
        let ty = match s.base {
            Some(ty) => ty,
            None if s.is_number() => Type::Int {
                bytes: s.size.unwrap_or(if s.longs > 0 { 8 } else { 4 }),
                signed: s.signed.unwrap_or(true),
            },
            None if self.is("(") && self.type_at(1, false) => {
                self.skip();
                let ty = self.nested(Self::type_name)?;
                self.expect(")", "after the type")?;
                while let Tok::Word(w, _) = self.peek() {
                    match w {
                        "const" => s.constant = true,
                        "volatile" => s.volatile = true,
                        _ => break,
                    }
                    self.skip();
                }
                ty
            }
            None => {
                let diag = self.unexpected("a type");
                let known = ["int", "atomic_int", "uint64_t", "volatile", "void"];
                return Err(match self.peek() {
                    Tok::Word(w, _) => match nearest(w, known) {
                        Some(n) => diag.help(format!("did you mean `{n}`?")),
                        None => diag,
                    },
                    _ => diag,
                });
            }
        };
        if s.longs > 2 {
            let span = s.start.to(self.last_span());
            return Err(Diag::at(self.source, span, "`long` is written more than twice"));
        }
        Ok(qualify(ty, s.constant, s.volatile, s.atomic))
    }

    /// Takes one of the words before a declarator; false if this is none.
    fn specifier(&mut self, w: &'a str, kind: Kind, s: &mut Specifiers) -> Result<bool> {
        match w {
            "const" | "__const" => s.constant = true,
            "volatile" | "__volatile__" | "__volatile" => s.volatile = true,
            // Locals are where a compiler likes to have them.
            "register" | "auto" => {}
            "static" => self.head.storage = Some(self.span()),
            "global" | "__global" | "local" | "__local" if self.type_at(1, false) => {
                self.head.space = Some(self.span());
                self.head.local |= w.ends_with("local");
            }
            "extern" | "_Thread_local" | "__thread" => {
                let message = format!("variables that are `{w}` are not read");
                let help = "shared locations are parameters of the thread, or `static`";
                return Err(self.unread(&message, help));
            }
            "inline" | "__inline" | "__inline__" => {
                self.head.told.inline = true;
                self.head.function = Some(self.span());
            }
            "restrict" | "__restrict" | "__restrict__" => {
                return Err(self.unexpected("a type").help("`restrict` stands behind the `*`"));
            }
            "__attribute__" => {
                self.head.function = Some(self.span());
                self.attribute()?;
                return Ok(true);
            }
            "std" if matches!(self.peek_at(1), Tok::Punct("::")) => self.skip(),
            "_Atomic" if matches!(self.peek_at(1), Tok::Punct("(")) => {
                self.skip();
                self.skip();
                s.base = Some(self.nested(Self::type_name)?);
                s.atomic = true;
                self.expect(")", "after the type that is atomic")?;
                return Ok(true);
            }
            "_Atomic" => s.atomic = true,
            "atomic" if matches!(self.peek_at(1), Tok::Punct("<")) => {
                self.skip();
                self.skip();
                s.base = Some(self.nested(Self::type_name)?);
                s.atomic = true;
                self.expect(">", "after the type that is atomic")?;
                return Ok(true);
            }
            "signed" | "__signed__" => s.signed = Some(true),
            "unsigned" => s.signed = Some(false),
            "char" => s.size = Some(1),
            "short" => s.size = Some(2),
            "int" => s.plain = true,
            "long" => s.longs += 1,
            "__int128" => s.size = Some(16),
            "void" => s.base = Some(Type::Void),
            "_Bool" => s.base = Some(Type::Named(BOOL.to_string())),
            "double" if s.longs > 0 => {
                let message = "values of type `long double` are not supported";
                return Err(Diag::at(self.source, self.span(), message)
                    .kind(FailureKind::Unsupported)
                    .help("use `double`"));
            }
            "struct" | "union" | "enum" => {
                self.skip();
                let defines = matches!(self.peek_at(1), Tok::Punct("{")) || self.is("{");
                if defines {
                    return Err(no_definitions(self.source, s.start.to(self.last_span()), w));
                }
                let (name, _) = self.name(&format!("the name of the {w}"))?;
                let named = format!("{w} {name}");
                let defined = self.structs.iter().find(|s| s.name() == named);
                s.base = Some(match defined {
                    Some(s) => Type::Struct(s.clone()),
                    None => Type::Named(named),
                });
                return Ok(true);
            }
            _ => {
                if s.base.is_some() || s.is_number() || kind == Kind::Reserved {
                    return Ok(false);
                }
                s.base = Some(typedef(w).unwrap_or_else(|| Type::Named(w.to_string())));
            }
        }
        self.skip();
        Ok(true)
    }

    /// `__attribute__((...))`, with attributes that leave the meaning as it is: each reaches the
    /// compiler.
    fn attribute(&mut self) -> Result<()> {
        self.skip();
        self.expect("(", "after `__attribute__`")?;
        self.expect("(", "after `__attribute__(`")?;
        while !self.is(")") {
            let Tok::Word(word, _) = self.peek() else {
                return Err(self.unexpected("an attribute"));
            };
            // `__pure__` is `pure`.
            let bare = word.strip_prefix("__").and_then(|w| w.strip_suffix("__")).unwrap_or(word);
            let Some(known) = Told::ATTRIBUTES.iter().find(|a| **a == bare) else {
                let message = format!("the attribute `{word}` is not known");
                let help = match nearest(bare, Told::ATTRIBUTES) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("attributes are {}", Told::ATTRIBUTES.join(", ")),
                };
                return Err(Diag::at(self.source, self.span(), message).help(help));
            };
            if !self.head.told.attributes.iter().any(|a| a == known) {
                self.head.told.attributes.push(known.to_string());
            }
            self.skip();
            if !self.eat(",") && !self.is(")") {
                return Err(self.unexpected("`,` or `)` after an attribute"));
            }
        }
        self.expect(")", "after the attributes")?;
        self.expect(")", "after the attributes")
    }

    /// The specifiers of what is no function.
    fn plain_specifiers(&mut self) -> Result<Type> {
        let ty = self.specifiers()?;
        self.no_other_word()?;
        Ok(ty)
    }

    /// Refuses the words that were read last and that only variables or functions can have.
    fn no_other_word(&self) -> Result<()> {
        if let Some(span) = self.head.storage {
            return Err(Diag::at(self.source, span, "`static` stands here before no variable")
                .help("declare a static between the functions, or by itself in a function"));
        }
        self.no_function_word()
    }

    /// Refuses the words that were read last and that only functions can have.
    fn no_function_word(&self) -> Result<()> {
        let message = "only parameters of threads lie in the memory that this names";
        if let Some(span) = self.head.space {
            return Err(Diag::at(self.source, span, message).help("leave it out"));
        }
        match self.head.function {
            Some(span) => Err(Diag::at(self.source, span, "only functions have this")
                .help("leave it out, or write it before the function's type")),
            None => Ok(()),
        }
    }

    /// A type without a name.
    pub fn type_name(&mut self) -> Result<Type> {
        let base = self.plain_specifiers()?;
        let (ty, name) = self.declarator(base, 0)?;
        match name {
            None => Ok(ty),
            Some((name, span)) => Err(Diag::at(
                self.source,
                span,
                format!("expected a type alone, found the name `{name}`"),
            )),
        }
    }

    /// Pointers, a name or nothing, and array sizes.
    fn declarator(&mut self, mut base: Type, depth: u32) -> Result<(Type, Option<(String, Span)>)> {
        let mut parts = depth;
        while self.is("*") {
            parts += 1;
            if parts > MAX_DECLARATOR {
                return Err(self.too_deep(self.span()));
            }
            self.skip();
            let (mut constant, mut volatile, mut atomic) = (false, false, false);
            let mut restrict = false;
            while let Tok::Word(w, _) = self.peek() {
                match w {
                    "const" => constant = true,
                    "volatile" => volatile = true,
                    "_Atomic" => atomic = true,
                    "restrict" | "__restrict" | "__restrict__" => restrict = true,
                    _ => break,
                }
                self.skip();
            }
            base = Type::Pointer(Arc::new(base));
            if restrict {
                base = Type::Restrict(Arc::new(base));
            }
            base = qualify(base, constant, volatile, atomic);
        }
        // In parentheses: a declarator whose base is known only after them.
        if self.is("(") && matches!(self.peek_at(1), Tok::Punct("*" | "(")) {
            if parts >= MAX_DECLARATOR {
                return Err(self.too_deep(self.span()));
            }
            self.skip();
            let hole = Type::Named(String::new());
            let (inner, name) = self.declarator(hole, parts + 1)?;
            self.expect(")", "after the declarator")?;
            let base = self.arrays(base, parts)?;
            return Ok((fill(&inner, &base), name));
        }
        let name = match self.peek() {
            Tok::Word(_, Kind::Name) => Some(self.name("a name")?),
            _ => None,
        };
        Ok((self.arrays(base, parts)?, name))
    }

    fn arrays(&mut self, base: Type, mut parts: u32) -> Result<Type> {
        let mut sizes = Vec::new();
        while self.eat("[") {
            parts += 1;
            if parts > MAX_DECLARATOR {
                return Err(self.too_deep(self.span()));
            }
            let size = match self.peek() {
                Tok::Int(i) if i.value <= u128::from(u32::MAX) => i.value as u64,
                Tok::Punct("]") => 0,
                _ => return Err(self.unexpected("the number of elements")),
            };
            if !self.is("]") {
                self.skip();
            }
            self.expect("]", "after the number of elements")?;
            sizes.push(size);
        }
        Ok(sizes.into_iter().rev().fold(base, |t, n| Type::Array(Arc::new(t), n)))
    }

    // Structures.

    fn definition(&mut self) -> Result<Struct> {
        let is_union = self.is_word("union");
        self.skip();
        let (tag, _) = self.name("the name of the structure")?;
        self.expect("{", "before the members")?;
        let mut members: Vec<Member> = Vec::new();
        while !self.eat("}") {
            let start = self.span();
            let base = self.plain_specifiers()?;
            loop {
                let (ty, name) = self.declarator(base.clone(), 0)?;
                let Some((name, span)) = name else {
                    return Err(self.unexpected("the name of a member"));
                };
                if self.is(":") {
                    return Err(self.unread("bit-fields are not read", "use whole integers"));
                }
                if members.iter().any(|m| m.name == name) {
                    let message = format!("the member `{name}` is there twice");
                    return Err(Diag::at(self.source, span, message).help("rename one of them"));
                }
                self.fits_in(&ty, start.to(self.last_span()))?;
                members.push(Member { name, ty });
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(";", "after a member")?;
        }
        if self.is_word("__attribute__") {
            return Err(self.unread(
                "attributes of structures are not read",
                "leave it out: members lie where the ABI puts them",
            ));
        }
        if members.is_empty() {
            return Err(self.unexpected("a member before the end of the structure"));
        }
        self.expect(";", "after the definition")?;
        Ok(Struct { is_union, tag, members })
    }

    /// Whether a member may be of this type.
    fn fits_in(&self, ty: &Type, span: Span) -> Result<()> {
        let mut of = ty.bare();
        while let Type::Array(inner, n) = of {
            if *n == 0 {
                return Err(Diag::at(
                    self.source,
                    span,
                    "an array without a size is no member here",
                )
                .kind(FailureKind::Unsupported)
                .help("give it a size"));
            }
            of = inner.bare();
        }
        let message = match of {
            Type::Pointer(_) => "members that are pointers are not supported".to_string(),
            Type::Struct(_) if ty.is_atomic() => "atomic structures are not supported".to_string(),
            of if size_of(of).is_none_or(|n| n == 0) => {
                format!("members of type `{}` are not supported", super::print_type(of))
            }
            _ => return Ok(()),
        };
        Err(Diag::at(self.source, span, message)
            .kind(FailureKind::Unsupported)
            .help("members are integers, `float`, `double`, arrays of these, and structures"))
    }

    #[cold]
    fn unread(&self, message: &str, help: &str) -> Box<Diag> {
        Diag::at(self.source, self.span(), message).kind(FailureKind::Unsupported).help(help)
    }

    // Functions and statements.

    fn function(&mut self) -> Result<Function> {
        let start = self.span();
        // `P0(...)` without a return type, as tests have it.
        let bare = matches!(self.peek(), Tok::Word(w, Kind::Name) if w != "__attribute__")
            && matches!(self.peek_at(1), Tok::Punct("(" | "@"));
        self.head = Head::default();
        let base = if bare { Type::Void } else { self.specifiers()? };
        let mut head = std::mem::take(&mut self.head);
        let mut ret = base;
        for _ in 0..MAX_DECLARATOR {
            if !self.eat("*") {
                break;
            }
            ret = Type::Pointer(Arc::new(ret));
        }
        self.head.told = head.told;
        while self.is_word("__attribute__") {
            self.attribute()?;
        }
        head.told = std::mem::take(&mut self.head.told);
        let (name, _) = self.name("the name of the function")?;
        self.on = if self.eat("@") { Some(self.on()?) } else { None };
        self.expect("(", "after the function's name")?;
        let params = self.params()?;
        self.head.told = head.told;
        while self.is_word("__attribute__") {
            self.attribute()?;
        }
        let told = std::mem::take(&mut self.head.told);
        self.expect("{", "before the function's body")?;
        let body = self.statements_to_brace()?;
        Ok(Function { name, told, params, ret, body, span: start.to(self.last_span()) })
    }

    /// `wg 0, dev 0` behind the `@` of a thread.
    fn on(&mut self) -> Result<On> {
        let workgroup = self.numbered("wg")?;
        self.expect(",", "and `dev` behind the workgroup")?;
        Ok((workgroup, self.numbered("dev")?))
    }

    fn numbered(&mut self, word: &str) -> Result<u16> {
        if !self.eat_word(word) {
            return Err(self.unexpected(&format!("`{word}`, as in `P0@wg 0, dev 0`")));
        }
        let number = match self.peek() {
            Tok::Int(lit) => u16::try_from(lit.value).ok(),
            _ => None,
        };
        let Some(number) = number else {
            return Err(self.unexpected(&format!("a number of 16 bits behind `{word}`")));
        };
        self.skip();
        Ok(number)
    }

    fn params(&mut self) -> Result<Vec<Param>> {
        let mut out: Vec<Param> = Vec::new();
        if self.is_word("void") && matches!(self.peek_at(1), Tok::Punct(")")) {
            self.skip();
        }
        if self.eat(")") {
            return Ok(out);
        }
        loop {
            let start = self.span();
            let base = self.specifiers()?;
            let local = std::mem::take(&mut self.head.local);
            self.head.space = None;
            self.no_other_word()?;
            let (ty, name) = self.declarator(base, 0)?;
            let Some((name, name_span)) = name else {
                return Err(self.unexpected("the name of the parameter"));
            };
            // Parameters of array type are pointers.
            let ty = match ty {
                Type::Array(t, _) => Type::Pointer(t),
                t => t,
            };
            if out.iter().any(|p| p.name == name) {
                let message = format!("parameter `{name}` is declared twice");
                return Err(Diag::at(self.source, name_span, message).help("rename one of them"));
            }
            out.push(Param { name, ty, local, span: start.to(self.last_span()) });
            if self.eat(")") {
                return Ok(out);
            }
            self.expect(",", "or `)` after a parameter")?;
        }
    }

    pub fn statements_to_brace(&mut self) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        while !self.eat("}") {
            if self.peek() == Tok::End {
                return Err(self.unexpected("`}` at the end of the block"));
            }
            if self.is_word("static") {
                self.static_variables()?;
                continue;
            }
            out.push(self.statement()?);
        }
        Ok(out)
    }

    /// A declaration whose variables outlive the call. They are shared locations of the test.
    fn static_variables(&mut self) -> Result<()> {
        let base = self.specifiers()?;
        self.no_function_word()?;
        let list = self.declarators(&base)?;
        self.variables.extend(list);
        self.expect(";", "after the declaration")
    }

    fn statement(&mut self) -> Result<Stmt> {
        self.nested(Self::statement_here)
    }

    fn statement_here(&mut self) -> Result<Stmt> {
        let start = self.span();
        let kind = self.statement_kind()?;
        Ok(Stmt::new(kind, start.to(self.last_span())))
    }

    fn statement_kind(&mut self) -> Result<StmtKind> {
        if self.eat(";") {
            return Ok(StmtKind::Empty);
        }
        if self.eat("{") {
            return Ok(StmtKind::Block(self.statements_to_brace()?));
        }
        if let (Tok::Word(w, Kind::Name), Tok::Punct(":")) = (self.peek(), self.peek_at(1)) {
            let label = w.to_string();
            self.skip();
            self.skip();
            // A label may stand before a closing brace.
            let target = if self.is("}") {
                Stmt::new(StmtKind::Empty, self.span())
            } else {
                self.statement()?
            };
            return Ok(StmtKind::Label(label, Box::new(target)));
        }
        let word = match self.peek() {
            Tok::Word(w, _) => w,
            _ => "",
        };
        match word {
            "if" => {
                self.skip();
                let cond = self.condition("if")?;
                let yes = Box::new(self.statement()?);
                let no = match self.eat_word("else") {
                    true => Some(Box::new(self.statement()?)),
                    false => None,
                };
                Ok(StmtKind::If { cond, yes, no })
            }
            "while" => {
                self.skip();
                let cond = self.condition("while")?;
                let body = Box::new(self.statement()?);
                Ok(StmtKind::While { cond, body })
            }
            "do" => {
                self.skip();
                let body = Box::new(self.statement()?);
                if !self.eat_word("while") {
                    return Err(self.unexpected("`while` after the body of `do`"));
                }
                let cond = self.condition("while")?;
                self.expect(";", "after `do ... while (...)`")?;
                Ok(StmtKind::DoWhile { body, cond })
            }
            "for" => self.for_loop(),
            "return" => {
                self.skip();
                let value = if self.is(";") { None } else { Some(self.expr()?) };
                self.expect(";", "after `return`")?;
                Ok(StmtKind::Return(value))
            }
            "break" => {
                self.skip();
                self.expect(";", "after `break`")?;
                Ok(StmtKind::Break)
            }
            "continue" => {
                self.skip();
                self.expect(";", "after `continue`")?;
                Ok(StmtKind::Continue)
            }
            "goto" => {
                self.skip();
                let (label, _) = self.name("a label")?;
                self.expect(";", "after the label")?;
                Ok(StmtKind::Goto(label))
            }
            "asm" | "__asm__" | "__asm" => {
                let barrier = self.barrier()?;
                self.expect(";", "after the statement")?;
                Ok(StmtKind::Expr(barrier))
            }
            _ if self.type_at(0, true) => {
                let decl = self.declaration()?;
                self.expect(";", "after the declaration")?;
                Ok(decl)
            }
            _ => {
                let e = self.expr()?;
                self.expect(";", "after the expression")?;
                Ok(StmtKind::Expr(e))
            }
        }
    }

    /// `__asm__ volatile("" ::: "memory")`: code for the compiler alone, across which it moves no access.
    fn barrier(&mut self) -> Result<Expr> {
        let start = self.span();
        self.skip();
        while self.is_word("volatile") || self.is_word("__volatile__") {
            self.skip();
        }
        self.expect("(", "after `__asm__`")?;
        if self.peek() != Tok::Text("") {
            return Err(self.unread("the instructions of an `asm` are not read", BARRIER));
        }
        self.skip();
        while self.eat(":") || self.eat("::") {}
        if self.peek() != Tok::Text("memory") {
            return Err(self.unread("operands of an `asm` are not read", BARRIER));
        }
        self.skip();
        self.expect(")", "after the parts of `__asm__`")?;
        Ok(Expr::new(
            ExprKind::Call(super::ast::BARRIER.into(), Vec::new()),
            start.to(self.last_span()),
        ))
    }

    fn condition(&mut self, word: &str) -> Result<Expr> {
        self.expect("(", &format!("after `{word}`"))?;
        let cond = self.expr()?;
        self.expect(")", "after the condition")?;
        Ok(cond)
    }

    fn for_loop(&mut self) -> Result<StmtKind> {
        self.skip();
        self.expect("(", "after `for`")?;
        let start = self.span();
        let init = if self.is(";") {
            StmtKind::Empty
        } else if self.type_at(0, true) {
            self.declaration()?
        } else {
            StmtKind::Expr(self.expr()?)
        };
        let init = Box::new(Stmt::new(init, start.to(self.last_span())));
        self.expect(";", "after the first part of `for`")?;
        let cond = if self.is(";") { None } else { Some(self.expr()?) };
        self.expect(";", "after the condition of `for`")?;
        let step = if self.is(")") { None } else { Some(self.expr()?) };
        self.expect(")", "after the last part of `for`")?;
        let body = Box::new(self.statement()?);
        Ok(StmtKind::For { init, cond, step, body })
    }

    fn declaration(&mut self) -> Result<StmtKind> {
        let base = self.plain_specifiers()?;
        Ok(StmtKind::Decl(self.declarators(&base)?))
    }

    /// The variables of a declaration, with what they start with.
    fn declarators(&mut self, base: &Type) -> Result<Vec<Declarator>> {
        let mut out = Vec::new();
        loop {
            let start = self.span();
            let (ty, name) = self.declarator(base.clone(), 0)?;
            let Some((name, _)) = name else {
                return Err(self.unexpected("the name of the variable"));
            };
            let init = match self.eat("=") {
                true if self.is("{") => Some(self.list(&ty)?),
                true => Some(self.assignment()?),
                false => None,
            };
            out.push(Declarator { name, ty, init, span: start.to(self.last_span()) });
            if !self.eat(",") {
                return Ok(out);
            }
        }
    }
}

/// Puts a type in the place of the hole that a declarator in parentheses was read around.
fn fill(ty: &Type, base: &Type) -> Type {
    match ty {
        Type::Named(n) if n.is_empty() => base.clone(),
        Type::Pointer(t) => Type::Pointer(Arc::new(fill(t, base))),
        Type::Array(t, n) => Type::Array(Arc::new(fill(t, base)), *n),
        Type::Atomic(t) => Type::Atomic(Arc::new(fill(t, base))),
        Type::Const(t) => Type::Const(Arc::new(fill(t, base))),
        Type::Volatile(t) => Type::Volatile(Arc::new(fill(t, base))),
        Type::Restrict(t) => Type::Restrict(Arc::new(fill(t, base))),
        t => t.clone(),
    }
}
