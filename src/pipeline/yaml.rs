//! Reading YAML: the one place that knows the YAML library.
//!
//! Everything is strict: unknown and duplicate keys are errors with a place, `yes` is no
//! boolean, and a document that unfolds into too much is refused before it does.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, SeqAccess, Visitor};
use serde_saphyr::{Error, Location};

use crate::diag::{Diag, Result, Source, Span, nearest};

/// A value and where it stands in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sp<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Sp<T> {
    pub fn nowhere(value: T) -> Sp<T> {
        Sp { value, span: Span::default() }
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
        let inner = serde_saphyr::Spanned::<T>::deserialize(d)?;
        Ok(Sp { value: inner.value, span: span_of(inner.referenced) })
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

/// One string or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub Vec<Sp<String>>);

impl Words {
    pub fn iter(&self) -> std::slice::Iter<'_, Sp<String>> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A string, a number or a boolean, kept as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scalar(pub String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string, a number or a boolean")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> std::result::Result<Scalar, E> {
                Ok(Scalar(v.to_string()))
            }
            fn visit_u64<E: de::Error>(self, v: u64) -> std::result::Result<Scalar, E> {
                Ok(Scalar(v.to_string()))
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> std::result::Result<Scalar, E> {
                Ok(Scalar(v.to_string()))
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> std::result::Result<Scalar, E> {
                Ok(Scalar(v.to_string()))
            }
            fn visit_bool<E: de::Error>(self, v: bool) -> std::result::Result<Scalar, E> {
                Ok(Scalar(v.to_string()))
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

enum OneOrMany {
    One(String),
    Many(Vec<Sp<Scalar>>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct V(PhantomData<()>);
        impl<'de> Visitor<'de> for V {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> std::result::Result<OneOrMany, E> {
                Ok(OneOrMany::One(v.to_string()))
            }
            fn visit_u64<E: de::Error>(self, v: u64) -> std::result::Result<OneOrMany, E> {
                Ok(OneOrMany::One(v.to_string()))
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> std::result::Result<OneOrMany, E> {
                Ok(OneOrMany::One(v.to_string()))
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

/// Reads one document into a type that knows all its keys.
pub fn read<T: DeserializeOwned>(source: &Source) -> Result<T> {
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
    serde_saphyr::from_str_with_options(&source.text, options).map_err(|e| explain(source, &e))
}

/// Turns the library's error into ours: what is wrong, where, and what was probably meant.
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
            // Some errors know a line and a column only.
            if span == Span::default() && at.line() > 1 {
                let start = offset_of(&source.text, at.line() as usize, at.column() as usize);
                return Span::new(start, start + 1);
            }
            // A key with a block under it may be reported with all of the block.
            let text = source.text.get(span.start as usize..).unwrap_or("");
            let line = text.find('\n').unwrap_or(text.len());
            let end = (span.end as usize)
                .clamp(span.start as usize + 1, span.start as usize + line.max(1));
            Span::new(span.start as usize, end)
        },
    );
    let among = |list: &[&str]| list.join(", ");
    let (message, help) = match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => (
            format!("unknown key `{field}`"),
            Some(match nearest(field, expected.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the keys here are {}", among(expected)),
            }),
        ),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => (
            format!("unknown value `{variant}`"),
            Some(match nearest(variant, expected.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it is one of {}", among(expected)),
            }),
        ),
        Error::SerdeMissingField { field, .. } => {
            (format!("the key `{field}` is missing here"), None)
        }
        Error::DuplicateMappingKey { key, .. } => (
            match key {
                Some(key) => format!("the key `{key}` stands here twice"),
                None => "a key stands here twice".to_string(),
            },
            Some("remove one of them".to_string()),
        ),
        Error::SerdeInvalidType {
            unexpected,
            expected,
            ..
        } => (format!("expected {expected}, found {unexpected}"), None),
        Error::InvalidBooleanStrict { .. } => (
            "expected a boolean".to_string(),
            Some("write `true` or `false`".to_string()),
        ),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => (
            "this document unfolds into too much".to_string(),
            Some("it has too many nodes, or anchors that multiply; generate tests with a stage instead".to_string()),
        ),
        Error::AliasError { error, .. } => return explain(source, error),
        Error::UnknownAnchor { .. } => ("an alias to an anchor that is not defined".into(), None),
        Error::Eof { .. } => ("the document is empty".to_string(), None),
        Error::MultipleDocuments { .. } => (
            "a second document begins here".to_string(),
            Some("a file holds one document; split it into two files".to_string()),
        ),
        other => {
            let text = other.to_string();
            let text = text.split(" at line ").next().unwrap_or(&text);
            (text.trim_end_matches(',').to_string(), None)
        }
    };
    let diag = Diag::at(source, span, message);
    match help {
        Some(help) => diag.help(help),
        None => diag,
    }
}

fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = &text[start.min(text.len())..];
    start + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(i, _)| i)
}
