//! Represents a document as a tree of texts with their places, and reads typed values from it.
//!
//! Variables are replaced in between, so that a variable can stand for a number, a boolean, one of
//! several words or a list, as it can for a text. This file does not know YAML, or which keys
//! exist.

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde::de::value::{BorrowedStrDeserializer, U32Deserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};

use super::vars::{Scope, Setting};
use super::yaml::Sp;
use litmake_base::diag::{Diag, Result, Source, Span, nearest};

mod faults;

use faults::Fault;
pub use faults::typed_or_all;

/// The name of the pseudo-structure by which [`Sp`] asks for a value with its place.
pub const PLACED: &str = "$placed";

/// A YAML value as written, with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The value.
    pub what: What,
    /// The place.
    pub span: Span,
}

/// A value of YAML.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// `null`, or nothing at all.
    Nothing,
    /// A text as written; and whether YAML reads it as a number or a boolean.
    Text(String, bool),
    /// A list.
    List(Vec<Tree>),
    /// Keys with their values, in the order of the file.
    Map(Vec<(Sp<String>, Tree)>),
}

impl Tree {
    /// The value of a key. None if the key is missing or this is no map.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        let What::Map(entries) = &self.what else { return None };
        entries.iter().find(|(k, _)| k.value == key).map(|(_, v)| v)
    }

    /// A copy of the map with only these keys.
    pub fn only(&self, keys: &[&str]) -> Tree {
        let what = match &self.what {
            What::Map(entries) => What::Map(
                entries.iter().filter(|(k, _)| keys.contains(&k.value.as_str())).cloned().collect(),
            ),
            other => other.clone(),
        };
        Tree { what, span: self.span }
    }
}

/// The meaning of `${...}` in a document.
#[derive(Clone, Copy)]
pub enum Vars<'a> {
    /// There are no variables.
    None,
    /// The values are not known yet. Texts stay as written, and other types get some value of the
    /// type.
    Later,
    /// Variables are replaced by these values.
    In(&'a Scope<'a>),
}

/// Reads a typed value from a tree.
pub fn typed<'de, T: de::Deserialize<'de>>(
    source: &'de Source,
    tree: &'de Tree,
    vars: Vars<'de>,
) -> Result<T> {
    T::deserialize(Reader { source, tree: Cow::Borrowed(tree), vars, put_in: false })
        .map_err(|e| e.diag(source))
}

/// An error and its place. A caller that knows the place adds it.
#[derive(Debug)]
pub struct Wrong {
    message: String,
    help: Option<String>,
    span: Option<Span>,
    fault: Fault,
}

impl Wrong {
    fn at(span: Span, message: impl Into<String>) -> Wrong {
        Wrong { message: message.into(), help: None, span: Some(span), fault: Fault::Value }
    }

    fn or_at(mut self, span: Span) -> Wrong {
        self.span.get_or_insert(span);
        self
    }

    fn help(mut self, help: impl Into<String>) -> Wrong {
        self.help = Some(help.into());
        self
    }

    fn diag(self, source: &Source) -> Box<Diag> {
        let span = one_line(source, self.span.unwrap_or_default());
        let diag = Diag::at(source, span, self.message);
        match self.help {
            Some(help) => diag.help(help),
            None => diag,
        }
    }
}

/// The first line of a place that spans a block.
pub fn one_line(source: &Source, span: Span) -> Span {
    let text = source.text.get(span.start as usize..).unwrap_or("");
    let line = text.find('\n').unwrap_or(text.len());
    let start = span.start as usize;
    Span::new(start, (span.end as usize).clamp(start + 1, start + line.max(1)))
}

impl std::error::Error for Wrong {}

impl Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl de::Error for Wrong {
    fn custom<T: Display>(message: T) -> Wrong {
        Wrong { message: message.to_string(), help: None, span: None, fault: Fault::Value }
    }

    fn invalid_type(found: Unexpected, expected: &dyn de::Expected) -> Wrong {
        Wrong::custom(format!("expected {expected}, found {}", in_words(&found)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Wrong {
        let help = match nearest(variant, expected.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it is one of {}", expected.join(", ")),
        };
        Wrong::custom(format!("unknown value `{variant}`")).help(help)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Wrong {
        let near: Option<&'static str> = nearest(field, expected.iter().copied());
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys here are {}", expected.join(", ")),
        };
        Wrong {
            fault: Fault::Key(near),
            ..Wrong::custom(format!("unknown key `{field}`")).help(help)
        }
    }

    fn missing_field(field: &'static str) -> Wrong {
        let message = format!("the key `{field}` is missing here");
        Wrong { fault: Fault::Missing, ..Wrong::custom(message) }
    }

    fn duplicate_field(field: &'static str) -> Wrong {
        Wrong::custom(format!("the key `{field}` stands here twice")).help("remove one of them")
    }
}

fn in_words(found: &Unexpected) -> String {
    match found {
        Unexpected::Str(text) => format!("`{text}`"),
        Unexpected::Seq => LIST.into(),
        Unexpected::Map => "keys and values".into(),
        Unexpected::Unit | Unexpected::Option => "nothing".into(),
        other => other.to_string(),
    }
}

struct Reader<'de> {
    source: &'de Source,
    tree: Cow<'de, Tree>,
    vars: Vars<'de>,
    /// Whether the text is the value of a variable. Then the reader's type decides what it is.
    put_in: bool,
}

type Read<T> = std::result::Result<T, Wrong>;

const LIST: &str = "a list";

impl<'de> Reader<'de> {
    fn child(&self, tree: Cow<'de, Tree>) -> Reader<'de> {
        Reader { source: self.source, tree, vars: self.vars, put_in: self.put_in }
    }

    fn found(&self) -> String {
        match &self.tree.what {
            What::Nothing => "nothing".into(),
            What::Text(text, _) if text.chars().count() > 60 => "a longer text".into(),
            What::Text(text, _) => format!("`{text}`"),
            What::List(_) => LIST.into(),
            What::Map(_) => "keys and values".into(),
        }
    }

    fn expected(&self, what: &str) -> Wrong {
        let wrong = Wrong::at(self.tree.span, format!("expected {what}, found {}", self.found()));
        match (&self.tree.what, self.vars) {
            (What::Text(text, _), Vars::None) if text.contains("${") => {
                wrong.help("a variable cannot stand for this key")
            }
            (What::Map(_), _) if what == LIST => wrong.help("each item of a list begins with `- `"),
            _ => wrong,
        }
    }

    /// Replaces a variable by its value.
    fn settled(mut self) -> Read<Reader<'de>> {
        let Vars::In(scope) = self.vars else { return Ok(self) };
        let What::Text(text, _) = &self.tree.what else { return Ok(self) };
        if self.put_in || !text.contains("${") {
            return Ok(self);
        }
        let span = self.tree.span;
        let text_of = |text: String| Tree { what: What::Text(text, false), span };
        let setting = scope.setting(self.source, text, span).map_err(|e| Wrong {
            message: e.message.clone(),
            help: e.help.clone(),
            span: Some(span),
            fault: Fault::Value,
        })?;
        let tree = match setting {
            Setting::Text(text) => text_of(text),
            Setting::List(list) => {
                Tree { what: What::List(list.into_iter().map(text_of).collect()), span }
            }
        };
        self.tree = Cow::Owned(tree);
        self.put_in = true;
        Ok(self)
    }

    /// The text of a number, a boolean or one of several words. `None` if a variable in it has no
    /// value yet.
    fn word(&self, what: &str, typed: bool) -> Read<Option<&str>> {
        match &self.tree.what {
            What::Text(text, _) if text.contains("${") && matches!(self.vars, Vars::Later) => {
                Ok(None)
            }
            What::Text(text, plain) if *plain || !typed || self.put_in => Ok(Some(text)),
            _ => Err(self.expected(what)),
        }
    }

    fn whole<T: TryFrom<i128>>(&self) -> Read<T> {
        let what = match T::try_from(-1) {
            Ok(_) => "a whole number",
            Err(_) => "a whole number that is not negative",
        };
        let Some(text) = self.word(what, true)? else {
            return T::try_from(0).map_err(|_| self.expected(what));
        };
        let text = text.trim();
        let number = match text.get(..2) {
            Some("0x") => i128::from_str_radix(&text[2..], 16),
            Some("0o") => i128::from_str_radix(&text[2..], 8),
            _ => text.parse(),
        };
        let number = number.map_err(|_| self.expected(what))?;
        T::try_from(number).map_err(|_| match number < 0 {
            true => self.expected(what),
            false => self.expected("a smaller number"),
        })
    }
}

macro_rules! whole {
    ($($method:ident $visit:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
            let this = self.settled()?;
            visitor.$visit(this.whole()?).map_err(|e: Wrong| e.or_at(this.tree.span))
        }
    )*};
}

macro_rules! as_any {
    ($($method:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
            self.deserialize_any(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let this = self.settled()?;
        let span = this.tree.span;
        match &this.tree.what {
            What::Nothing => visitor.visit_unit(),
            What::Text(text, _) => visitor.visit_str(text),
            What::List(_) => return this.list(visitor),
            What::Map(_) => return this.map(visitor),
        }
        .map_err(|e: Wrong| e.or_at(span))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        visitor.visit_unit()
    }

    whole!(deserialize_u8 visit_u8, deserialize_u16 visit_u16, deserialize_u32 visit_u32,
        deserialize_u64 visit_u64, deserialize_i8 visit_i8, deserialize_i16 visit_i16,
        deserialize_i32 visit_i32, deserialize_i64 visit_i64);
    as_any!(deserialize_char, deserialize_bytes, deserialize_byte_buf, deserialize_unit);

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let this = self.settled()?;
        let number = match this.word("a number", true)? {
            None => 0.0,
            Some(text) => text
                .trim()
                .parse()
                .ok()
                .filter(|n: &f64| n.is_finite())
                .ok_or_else(|| this.expected("a number"))?,
        };
        visitor.visit_f64(number).map_err(|e: Wrong| e.or_at(this.tree.span))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let this = self.settled()?;
        let wanted = "`true` or `false`";
        let value = match this.word(wanted, true)? {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err(this.expected(wanted)),
        };
        visitor.visit_bool(value).map_err(|e: Wrong| e.or_at(this.tree.span))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let this = self.settled()?;
        match &this.tree.what {
            What::Text(text, _) => {
                visitor.visit_str(text).map_err(|e: Wrong| e.or_at(this.tree.span))
            }
            _ => Err(this.expected("a text")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_str(visitor)
    }

    /// A key that stands for an empty variable counts as left out.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let this = self.settled()?;
        match &this.tree.what {
            What::Nothing => visitor.visit_none(),
            What::Text(text, _) if text.is_empty() && this.put_in => visitor.visit_none(),
            _ => visitor.visit_some(this),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Read<V::Value> {
        self.deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Read<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.settled()?.list(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Read<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Read<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.settled()?.map(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        match name {
            PLACED => visitor.visit_seq(Placed { span: self.tree.span, reader: Some(self), at: 0 }),
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        let this = self.settled()?;
        let first = variants.first().copied().unwrap_or("");
        let word = this.word("a word", false)?.unwrap_or(first).to_string();
        visitor.visit_enum(Word(word)).map_err(|e: Wrong| e.or_at(this.tree.span))
    }
}

impl<'de> Reader<'de> {
    fn list<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let span = self.tree.span;
        let trees: Vec<Cow<'de, Tree>> = match self.tree {
            Cow::Borrowed(Tree { what: What::List(list), .. }) => {
                list.iter().map(Cow::Borrowed).collect()
            }
            Cow::Owned(Tree { what: What::List(list), .. }) => {
                list.into_iter().map(Cow::Owned).collect()
            }
            _ => return Err(self.expected(LIST)),
        };
        let around = Reader { tree: Cow::Owned(Tree { what: What::Nothing, span }), ..self };
        let mut items = Vec::with_capacity(trees.len());
        for tree in trees {
            let item = around.child(tree);
            // A variable among the items may hold a list, whose items are added.
            if let What::Text(text, _) = &item.tree.what
                && text.contains("${")
            {
                let item = item.settled()?;
                match item.tree.into_owned() {
                    Tree { what: What::List(list), .. } => items.extend(
                        list.into_iter()
                            .map(|t| Reader { put_in: true, ..around.child(Cow::Owned(t)) }),
                    ),
                    tree => {
                        items.push(Reader { put_in: item.put_in, ..around.child(Cow::Owned(tree)) })
                    }
                }
            } else {
                items.push(item);
            }
        }
        let mut items = Items(items.into_iter());
        let out = visitor.visit_seq(&mut items).map_err(|e: Wrong| e.or_at(span))?;
        match items.0.next() {
            Some(more) => Err(Wrong::at(more.tree.span, "there are too many items here")),
            None => Ok(out),
        }
    }

    fn map<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let span = self.tree.span;
        // Variables never stand for maps, so a map always comes from the document itself.
        let Cow::Borrowed(Tree { what: What::Map(entries), .. }) = &self.tree else {
            return Err(self.expected("keys and values"));
        };
        visitor
            .visit_map(Entries { around: &self, rest: entries.iter(), value: None })
            .map_err(|e: Wrong| e.or_at(span))
    }
}

/// Gives a value, then the start and the end of its place.
struct Placed<'de> {
    reader: Option<Reader<'de>>,
    span: Span,
    at: u8,
}

impl<'de> SeqAccess<'de> for Placed<'de> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<Option<T::Value>> {
        if let Some(reader) = self.reader.take() {
            return seed.deserialize(reader).map(Some);
        }
        self.at += 1;
        let end: U32Deserializer<Wrong> = match self.at {
            1 => self.span.start.into_deserializer(),
            2 => self.span.end.into_deserializer(),
            _ => return Ok(None),
        };
        seed.deserialize(end).map(Some)
    }
}

struct Items<'de>(std::vec::IntoIter<Reader<'de>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<Option<T::Value>> {
        self.0.next().map(|item| seed.deserialize(item)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries<'a, 'de> {
    around: &'a Reader<'de>,
    rest: std::slice::Iter<'de, (Sp<String>, Tree)>,
    value: Option<&'de Tree>,
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Read<Option<K::Value>> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some(value);
        let name = BorrowedStrDeserializer::<Wrong>::new(&key.value);
        seed.deserialize(name).map(Some).map_err(|e| e.or_at(key.span))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<T::Value> {
        match self.value.take() {
            Some(tree) => seed.deserialize(self.around.child(Cow::Borrowed(tree))),
            None => Err(de::Error::custom("a value without its key")),
        }
    }
}

/// One of several words.
struct Word(String);

impl<'de> EnumAccess<'de> for Word {
    type Error = Wrong;
    type Variant = Word;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Read<(V::Value, Word)> {
        Ok((seed.deserialize(self.0.as_str().into_deserializer())?, self))
    }
}

impl<'de> VariantAccess<'de> for Word {
    type Error = Wrong;

    fn unit_variant(self) -> Read<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Read<T::Value> {
        Err(de::Error::custom("expected only the name of this value, without keys below it"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Read<V::Value> {
        Err(de::Error::custom("expected only the name of this value, without keys below it"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Read<V::Value> {
        Err(de::Error::custom("expected only the name of this value, without keys below it"))
    }
}
