//! Variables: replaces `${...}` by values.
//!
//! This file does not know where variables come from, or what their values are used for.

use std::collections::BTreeMap;

use litmake_base::diag::{Diag, Result, Source, Span, nearest};

use super::yaml::{Sp, Words};

const MAX_SUBSTITUTED: usize = 1 << 16;
const MAX_DEPTH: usize = 8;

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A text, a number or a boolean, as written.
    Text(String),
    /// A list, which can only stand for a list.
    List(Vec<String>),
}

impl Setting {
    /// The value that `--set` gives to a variable with this value.
    pub fn replaced(&self, text: &str) -> Setting {
        match self {
            Setting::Text(_) => Setting::Text(text.to_string()),
            Setting::List(_) => {
                let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
                Setting::List(parts.map(str::to_string).collect())
            }
        }
    }
}

/// The variables that `${...}` may name.
pub struct Scope<'a> {
    /// Variables of the pipeline and of the stage's instance.
    pub vars: &'a BTreeMap<String, Setting>,
    /// Environment variables that the pipeline declares.
    pub env: &'a BTreeMap<String, Option<String>>,
}

impl Scope<'_> {
    /// Replaces the variables in a text. `$${` stands for `${`.
    pub fn expand(&self, source: &Source, text: &Sp<String>) -> Result<Sp<String>> {
        Ok(Sp { value: self.expand_text(source, &text.value, text.span, 0)?, span: text.span })
    }

    /// Replaces the variables in each word. A word that stands for a list becomes the items of the
    /// list.
    pub fn expand_words(&self, source: &Source, words: &Words) -> Result<Vec<Sp<String>>> {
        let mut out = Vec::new();
        for word in words.iter() {
            match self.setting(source, &word.value, word.span)? {
                Setting::Text(value) => out.push(Sp { value, span: word.span }),
                Setting::List(list) => {
                    out.extend(list.into_iter().map(|value| Sp { value, span: word.span }));
                }
            }
        }
        Ok(out)
    }

    /// The value of a text: a list if the whole text is one variable that holds a list.
    pub fn setting(&self, source: &Source, text: &str, span: Span) -> Result<Setting> {
        let mut text = text;
        for _ in 0..MAX_DEPTH {
            let Some(name) = whole(text) else { break };
            if name.starts_with("env.") {
                break;
            }
            match self.named(source, name, span)? {
                Setting::Text(value) => text = value,
                Setting::List(list) => {
                    let item = |text: &String| self.expand_text(source, text, span, 1);
                    return Ok(Setting::List(list.iter().map(item).collect::<Result<_>>()?));
                }
            }
        }
        Ok(Setting::Text(self.expand_text(source, text, span, 0)?))
    }

    fn expand_text(&self, source: &Source, text: &str, span: Span, depth: usize) -> Result<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                out.push_str(&rest[..at]);
                out.push('{');
                rest = &rest[at + 2..];
                continue;
            }
            out.push_str(&rest[..at]);
            let Some(end) = rest[at..].find('}') else {
                return Err(Diag::at(source, span, "a `${` without its `}`"));
            };
            let name = rest[at + 2..at + end].trim();
            let value = self.text(source, name, span)?;
            if depth >= MAX_DEPTH || out.len() > MAX_SUBSTITUTED {
                return Err(Diag::at(
                    source,
                    span,
                    format!("the variable `{name}` contains itself, or its value is too long"),
                ));
            }
            out.push_str(&self.expand_text(source, &value, span, depth + 1)?);
            rest = &rest[at + end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn text(&self, source: &Source, name: &str, span: Span) -> Result<String> {
        if let Some(variable) = name.strip_prefix("env.") {
            return match self.env.get(variable) {
                Some(value) => Ok(value.clone().unwrap_or_default()),
                None => Err(Diag::at(
                    source,
                    span,
                    format!("the environment variable `{variable}` is not declared"),
                )
                .help(format!("add `env: [{variable}]` to the pipeline"))),
            };
        }
        match self.named(source, name, span)? {
            Setting::Text(text) => Ok(text.clone()),
            Setting::List(_) => Err(Diag::at(
                source,
                span,
                format!("the variable `{name}` is a list, which cannot stand here"),
            )
            .help("a list can stand where a list is expected, as the whole of a word")),
        }
    }

    fn named(&self, source: &Source, name: &str, span: Span) -> Result<&Setting> {
        if let Some(value) = self.vars.get(name) {
            return Ok(value);
        }
        let diag = Diag::at(source, span, format!("there is no variable `{name}`"));
        Err(match nearest(name, self.vars.keys().map(String::as_str)) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None => diag.help("variables come from `vars`, `matrix` and `foreach`"),
        })
    }
}

/// The name of the variable, if the whole text is one variable.
fn whole(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains(['$', '{', '}'])).then_some(name.trim())
}
