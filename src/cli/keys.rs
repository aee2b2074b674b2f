//! Makes flags of the keys of a kind of stages, so that a command and a pipeline have the same
//! options: the types in `pipeline/kinds` say their names, types and meanings once.
//!
//! It does not know what an option means.

use std::marker::PhantomData;

use clap::{Arg, ArgAction, ArgMatches, Command};
use litmake::diag::{Result, Source, Span};
use litmake::profile::tree::{Tree, Vars, What, typed};
use litmake::profile::yaml::Sp;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A kind of stages whose keys are flags of a command.
pub trait Flags: JsonSchema + DeserializeOwned {
    /// Keys that are no flags.
    const LEFT_OUT: &[&str];
    /// Flags with another name than their key. The key's name is understood, too.
    const NAMES: &[(&str, &str)];
}

/// The values of such flags, as given.
pub struct Keys<K> {
    /// For each key that is given, its flag and its values.
    given: Vec<(String, String, Vec<String>)>,
    kind: PhantomData<K>,
}

/// The type of a key's values, as far as a flag depends on it.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    Switch,
    Number,
    Text,
    Texts,
}

impl Type {
    fn of(property: &Value) -> Type {
        let has = |word: &str| match &property["type"] {
            Value::String(one) => one == word,
            Value::Array(list) => list.iter().any(|t| t == word),
            _ => false,
        };
        match () {
            () if has("boolean") => Type::Switch,
            () if has("integer") => Type::Number,
            () if has("string") => Type::Text,
            () => Type::Texts,
        }
    }
}

/// The keys that are flags: their flags, types and descriptions.
fn keys<K: Flags>() -> Vec<(String, String, Type, String)> {
    let schema = schemars::schema_for!(K).to_value();
    let Some(Value::Object(properties)) = schema.get("properties") else { return Vec::new() };
    let flags = properties.iter().filter(|(key, _)| !K::LEFT_OUT.contains(&key.as_str()));
    flags
        .map(|(key, property)| {
            let own = K::NAMES.iter().find(|(of, _)| of == key);
            let flag = own.map_or_else(|| key.replace('_', "-"), |(_, flag)| flag.to_string());
            let about = property["description"].as_str().unwrap_or("").replace('\n', " ");
            (key.clone(), flag, Type::of(property), about)
        })
        .collect()
}

impl<K: Flags> clap::Args for Keys<K> {
    fn augment_args(command: Command) -> Command {
        keys::<K>().into_iter().fold(command, |command, (key, flag, kind, about)| {
            let about = about.trim_end_matches('.').to_string();
            let short = about.split_inclusive(". ").next().unwrap_or(&about).trim_end_matches(". ");
            let key_as_flag = key.replace('_', "-");
            let arg = Arg::new(key).help(short.to_string()).long_help(about.clone());
            let arg = if key_as_flag == flag { arg } else { arg.alias(key_as_flag) };
            command.arg(
                match kind {
                    Type::Switch => arg.action(ArgAction::SetTrue),
                    Type::Number => arg.value_name("N"),
                    Type::Text => arg.value_name(flag.to_uppercase()),
                    Type::Texts => arg.value_name(flag.to_uppercase()).action(ArgAction::Append),
                }
                .long(flag),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<K: Flags> clap::FromArgMatches for Keys<K> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let given = keys::<K>().into_iter().filter_map(|(key, flag, kind, _)| {
            let values: Vec<String> = match kind {
                Type::Switch => matches.get_flag(&key).then(|| vec!["true".into()])?,
                _ => matches.get_many(&key)?.cloned().collect(),
            };
            Some((key, flag, values))
        });
        Ok(Keys { given: given.collect(), kind: PhantomData })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<K: Flags> Keys<K> {
    /// The options, and the text that diagnostics about them point into: a line for each value.
    pub fn read(&self) -> Result<(Source, K)> {
        let mut text = String::new();
        let mut entries = Vec::new();
        for (key, flag, values) in &self.given {
            let mut list = Vec::new();
            for value in values {
                text += &format!("--{flag} ");
                let start = text.len();
                text += value;
                let span = Span::new(start, text.len());
                text.push('\n');
                list.push(Tree { what: What::Text(value.clone(), true), span });
            }
            let span = list.first().map_or(Span::default(), |first| first.span);
            let value = match list.len() {
                1 => list.remove(0),
                _ => Tree { what: What::List(list), span },
            };
            entries.push((Sp { value: key.clone(), span }, value));
        }
        let source = Source::new("command line", text);
        let tree = Tree { what: What::Map(entries), span: Span::default() };
        let options = typed(&source, &tree, Vars::None)?;
        Ok((source, options))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use litmake::pipeline::kinds::Generate;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        keys: Keys<Generate>,
    }

    fn read(words: &[&str]) -> Result<Generate> {
        let line = Line::parse_from([&["litmake"], words].concat());
        line.keys.read().map(|(_, options)| options)
    }

    #[test]
    fn a_flag_gives_a_key_its_value_as_a_pipeline_would() {
        let words =
            ["--cycles", "a", "--cycle", "b ${c}", "--size", "5", "--exact-size", "--arch", "C"];
        let options = read(&words).unwrap();
        let cycles: Vec<&str> = options.cycles.iter().map(|c| c.value.as_str()).collect();
        assert_eq!(cycles, ["a", "b ${c}"]);
        assert_eq!(options.size.map(|n| n.value), Some(5));
        assert!(options.exact_size && !options.one_location);
        assert_eq!(options.threads, None);
    }

    #[test]
    fn a_wrong_value_is_shown_where_it_stands() {
        let error = read(&["--arch", "C", "--size", "x"]).unwrap_err().to_string();
        assert!(error.starts_with("command line:2:8: error: expected a whole number"), "{error}");
    }
}
