//! Arguments of a subcommand that are set up only where it is the one asked for: setting up all of
//! them takes longer than many a command.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

pub struct Later<T>(pub T);

/// Whether this command line is about all of them: help says what each is for, and shells complete
/// each.
fn all_asked() -> bool {
    std::env::args_os().nth(1).is_none_or(|first| {
        let first = first.as_encoded_bytes();
        first.starts_with(b"-") || [&b"help"[..], b"completions"].contains(&first)
    })
}

fn later(command: Command, set_up: fn(Command) -> Command) -> Command {
    if all_asked() { set_up(command) } else { command.defer(set_up) }
}

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Later)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Later)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }

    fn update_from_arg_matches_mut(&mut self, matches: &mut ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches_mut(matches)
    }
}

impl<T: Args> Args for Later<T> {
    fn augment_args(command: Command) -> Command {
        later(command, T::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        later(command, T::augment_args_for_update)
    }
}
