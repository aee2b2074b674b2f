//! Reads YAML. Only this file knows the YAML library.
//!
//! Reading is strict: unknown and duplicate keys are errors with a place, `yes` is no boolean, and
//! a document that would expand to too much is refused before it does.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Error, Location, Spanned};

use super::tree::{PLACED, Tree, Vars, What, one_line, typed_or_all};
use super::vars::Setting;
use litmake_base::diag::{Diag, Result, Source, Span};

/// A value, and its place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sp<T> {
    /// The value.
    pub value: T,
    /// The place.
    pub span: Span,
}

impl<T> Sp<T> {
    /// A value without a place.
    pub fn nowhere(value: T) -> Sp<T> {
        Sp { value, span: Span::default() }
    }
}

impl<T> From<T> for Sp<T> {
    fn from(value: T) -> Sp<T> {
        Sp::nowhere(value)
    }
}

impl From<&str> for Sp<String> {
    fn from(text: &str) -> Sp<String> {
        Sp::nowhere(text.to_string())
    }
}

/// Data formats other than YAML keep the place beside the value.
impl<T: Serialize> Serialize for Sp<T> {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        (&self.value, self.span.start, self.span.end).serialize(s)
    }
}

impl<T> std::ops::Deref for Sp<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Sp<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Sp<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a value and its place")
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> std::result::Result<Sp<T>, A::Error> {
                let missing = || de::Error::custom("a place without its value");
                let value = seq.next_element()?.ok_or_else(missing)?;
                let start = seq.next_element()?.ok_or_else(missing)?;
                let end = seq.next_element()?.ok_or_else(missing)?;
                Ok(Sp { value, span: Span { start, end } })
            }
        }
        d.deserialize_struct(PLACED, &["value", "start", "end"], V(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Sp<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

fn span_of(at: Location) -> Span {
    let span = at.span();
    match (span.byte_offset(), span.byte_len()) {
        (Some(start), Some(len)) => Span::new(start as usize, (start + len) as usize),
        _ => Span::default(),
    }
}

/// One text, or a list of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub Vec<Sp<String>>);

impl Words {
    /// The texts.
    pub fn iter(&self) -> std::slice::Iter<'_, Sp<String>> {
        self.0.iter()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<Sp<String>>> FromIterator<T> for Words {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Words {
        Words(texts.into_iter().map(Into::into).collect())
    }
}

impl Serialize for Words {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        (&self.0, 0, 0).serialize(s)
    }
}

/// A text, a number or a boolean, kept as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scalar(pub String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a text, a number or a boolean")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> std::result::Result<Scalar, E> {
                Ok(Scalar(v.to_string()))
            }
            fn visit_unit<E: de::Error>(self) -> std::result::Result<Scalar, E> {
                Ok(Scalar(String::new()))
            }
        }
        d.deserialize_any(V)
    }
}

impl JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// The value of a variable: a list if it was written as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(pub Setting);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        Ok(Value(match OneOrMany::deserialize(d)? {
            OneOrMany::None => Setting::Text(String::new()),
            OneOrMany::One(text) => Setting::Text(text),
            OneOrMany::Many(list) => {
                Setting::List(list.into_iter().map(|item| item.value.0).collect())
            }
        }))
    }
}

impl JsonSchema for Value {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": ["string", "number", "boolean"] },
                { "type": "array", "items": { "type": ["string", "number", "boolean"] } }
            ]
        })
    }
}

enum OneOrMany {
    None,
    One(String),
    Many(Vec<Sp<Scalar>>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct V(PhantomData<()>);
        impl<'de> Visitor<'de> for V {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> std::result::Result<OneOrMany, E> {
                Ok(OneOrMany::One(v.to_string()))
            }
            fn visit_unit<E: de::Error>(self) -> std::result::Result<OneOrMany, E> {
                Ok(OneOrMany::None)
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> std::result::Result<OneOrMany, A::Error> {
                let mut out = Vec::new();
                while let Some(item) = seq.next_element()? {
                    out.push(item);
                }
                Ok(OneOrMany::Many(out))
            }
        }
        d.deserialize_any(V(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        let inner = Sp::<OneOrMany>::deserialize(d)?;
        Ok(Words(match inner.value {
            OneOrMany::None => Vec::new(),
            OneOrMany::One(value) => vec![Sp { value, span: inner.span }],
            OneOrMany::Many(list) => {
                list.into_iter().map(|s| Sp { value: s.value.0, span: s.span }).collect()
            }
        }))
    }
}

impl JsonSchema for Words {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": ["string", "number"] },
                { "type": "array", "items": { "type": ["string", "number", "boolean"] } }
            ]
        })
    }
}

/// A node as the YAML library gives it.
struct Raw(RawWhat);

enum RawWhat {
    Nothing,
    Text(String),
    /// A number or a boolean for YAML; its text is taken from the document.
    Plain,
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct V;
        macro_rules! plain {
            ($($method:ident $type:ty),*) => {$(
                fn $method<E: de::Error>(self, _: $type) -> std::result::Result<Raw, E> {
                    Ok(Raw(RawWhat::Plain))
                }
            )*};
        }
        impl<'de> Visitor<'de> for V {
            type Value = Raw;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("YAML")
            }
            plain!(visit_u64 u64, visit_i64 i64, visit_u128 u128, visit_i128 i128, visit_f64 f64,
                visit_bool bool);
            fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Raw, E> {
                Ok(Raw(RawWhat::Text(text.to_string())))
            }
            fn visit_unit<E: de::Error>(self) -> std::result::Result<Raw, E> {
                Ok(Raw(RawWhat::Nothing))
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> std::result::Result<Raw, A::Error> {
                let mut out = Vec::new();
                while let Some(item) = seq.next_element()? {
                    out.push(item);
                }
                Ok(Raw(RawWhat::List(out)))
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Raw, A::Error> {
                let mut out = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    out.push(entry);
                }
                Ok(Raw(RawWhat::Map(out)))
            }
        }
        d.deserialize_any(V)
    }
}

fn planted(source: &Source, raw: Spanned<Raw>) -> Result<Tree> {
    let span = span_of(raw.referenced);
    let what = match raw.value.0 {
        RawWhat::Nothing => What::Nothing,
        RawWhat::Text(text) => What::Text(text, false),
        RawWhat::Plain => {
            let at = span_of(raw.defined);
            let text = source.text.get(at.start as usize..at.end as usize).unwrap_or("");
            What::Text(text.trim().to_string(), true)
        }
        RawWhat::List(list) => {
            What::List(list.into_iter().map(|t| planted(source, t)).collect::<Result<_>>()?)
        }
        RawWhat::Map(entries) => {
            let mut out = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let key = planted(source, key)?;
                let What::Text(name, _) = key.what else {
                    let span = one_line(source, key.span);
                    return Err(Diag::at(source, span, "a key must be a text"));
                };
                out.push((Sp { value: name, span: key.span }, planted(source, value)?));
            }
            What::Map(out)
        }
    };
    Ok(Tree { what, span })
}

/// Reads a document as a type that knows all its keys.
pub fn read<T: DeserializeOwned>(source: &Source) -> Result<T> {
    typed_or_all(source, &tree(source)?, Vars::None)
}

/// Reads a document as a tree.
pub fn tree(source: &Source) -> Result<Tree> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_nodes: 2_000_000,
            max_events: 4_000_000,
            max_depth: 48,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 200_000,
            max_replay_stack_depth: 32,
        },
    };
    let raw: Spanned<Raw> = serde_saphyr::from_str_with_options(&source.text, options)
        .map_err(|e| explain(source, &e))?;
    if let RawWhat::Nothing = raw.value.0 {
        let end = source.text.len();
        return Err(Diag::at(source, Span::new(end, end), "the document is empty"));
    }
    planted(source, raw)
}

/// Turns an error of the library into a diagnostic: the error, its place, and what was probably
/// meant.
fn explain(source: &Source, error: &Error) -> Box<Diag> {
    let error = error.without_snippet();
    let at = match error {
        Error::AliasError { locations, .. } => Some(locations.reference_location),
        e => e.location(),
    };
    let span = at.map_or_else(
        || Span::new(source.text.len(), source.text.len()),
        |at| {
            let span = span_of(at);
            // Some errors have only a line and a column.
            if span == Span::default() && at.line() > 1 {
                let start = offset_of(&source.text, at.line() as usize, at.column() as usize);
                return Span::new(start, start + 1);
            }
            one_line(source, span)
        },
    );
    let (message, help) = match error {
        Error::DuplicateMappingKey { key, .. } => (
            match key {
                Some(key) => format!("the key `{key}` stands here twice"),
                None => "a key stands here twice".to_string(),
            },
            Some("remove one of them".to_string()),
        ),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => (
            "this document unfolds into too much".to_string(),
            Some("it has too many nodes, or anchors that multiply; generate tests with a stage instead".to_string()),
        ),
        Error::AliasError { error, .. } => return explain(source, error),
        Error::UnknownAnchor { .. } => pattern(source, span),
        Error::Eof { .. } => ("the document is empty".to_string(), None),
        Error::MultipleDocuments { .. } => (
            "a second document begins here".to_string(),
            Some("a file holds one document; split it into two files".to_string()),
        ),
        other => {
            let text = other.to_string();
            let text = text.split(" at line ").next().unwrap_or(&text);
            let text = text.trim_end_matches(',').to_string();
            indented(source, span).unwrap_or((text, None))
        }
    };
    let diag = Diag::at(source, span, message);
    match help {
        Some(help) => diag.help(help),
        None => diag,
    }
}

type Said = (String, Option<String>);

/// `*.litmus` without quotes, which YAML takes for an alias.
fn pattern(source: &Source, span: Span) -> Said {
    let text = source.text.get(span.start as usize..).unwrap_or("");
    let word = text.split([' ', '\n', ',', ']', '}']).next().unwrap_or("");
    let help = format!("a pattern is written in quotes: \"{word}\"");
    ("in YAML a `*` at the beginning stands for an alias".to_string(), Some(help))
}

/// A document that cannot be parsed because of its indentation: by tabs, or by a number of blanks that
/// no line above has.
fn indented(source: &Source, span: Span) -> Option<Said> {
    let (number, _) = source.line_col(span.start as usize);
    let lines: Vec<&str> = source.text.lines().take(number).collect();
    let blank = |line: &str| line.len() - line.trim_start().len();
    // The library names the line behind the tab, too.
    let with_tab = |line: &&&str| line[..blank(line)].contains('\t');
    if lines.iter().rev().take(2).any(|line| with_tab(&line)) {
        let said = "a tab in the indentation".to_string();
        return Some((said, Some("YAML is indented with blanks, two for each level".into())));
    }
    let (line, above) = lines.split_last()?;
    let depth = blank(line);
    let is_text = |line: &&&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let before = above.iter().rev().find(is_text)?;
    let known = above.iter().filter(is_text).any(|line| blank(line) == depth);
    // The keys of a list's item begin behind its dash.
    let behind = |line: &str| blank(line) + line.trim_start().starts_with("- ") as usize * 2;
    if known || above.iter().filter(is_text).any(|line| behind(line) == depth) {
        return None;
    }
    let said = format!("this line is indented by {depth} blanks, and no line above it is");
    Some((
        said,
        Some(format!(
            "the keys beside `{}` begin in column {}",
            first_word(before),
            behind(before) + 1
        )),
    ))
}

fn first_word(line: &str) -> &str {
    let text = line.trim_start().trim_start_matches("- ");
    text.split([':', ' ']).next().unwrap_or(text)
}

fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = &text[start.min(text.len())..];
    start + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(i, _)| i)
}
