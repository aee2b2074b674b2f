//! Answers of compilers, machines and devices, as inputs of queries. They are asked outside of
//! queries. An answer that is equal to the one before changes nothing.
//!
//! This file does not know how a question is answered, nor the types of answers: each file that
//! reads answers has an input for them ([`probe`]).

use std::sync::Arc;

use litmake_base::diag::Diag;
use litmake_base::digest::{Digest, Keyer};
use litmake_litmus::Arch;
use litmake_profile::Profile;

/// A question.
#[derive(Clone)]
pub enum Question {
    /// For a profile's compiler.
    Compiler(Arc<Profile>),
    /// For a linker of an architecture's code.
    Linker(Arch),
    /// For the machine that runs a profile's tests; without a profile, for this machine.
    Machine(Option<Arc<Profile>>),
    /// For the device that runs tests, by a part of its name.
    Device(Option<String>),
}

impl Question {
    /// A digest of everything that decides the answer.
    pub fn key(&self) -> Digest {
        match self {
            Question::Compiler(profile) => compiler(profile),
            Question::Linker(arch) => {
                Keyer::new("linker/1").field("arch", arch.name().as_bytes()).finish()
            }
            Question::Machine(None) => Keyer::new("machine/1").finish(),
            Question::Machine(Some(profile)) => Keyer::new("machine/1")
                .field("profile", &compiler(profile).0)
                .field("name", profile.name.as_bytes())
                .finish(),
            Question::Device(None) => Keyer::new("device/1").finish(),
            Question::Device(Some(name)) => {
                Keyer::new("device/1").field("adapter", name.as_bytes()).finish()
            }
        }
    }
}

/// The key of the question for a profile's compiler.
pub fn compiler(profile: &Profile) -> Digest {
    let mut key = Keyer::new("profile's compiler/1").field("asks", &profile.fingerprint().0);
    for input in &profile.inputs {
        key.add("input", input.as_os_str().as_encoded_bytes());
    }
    key.finish()
}

/// Makes an input with the answers of one type: `NAME::known(db, key)` reads one, and
/// `NAME::put(db, key, answer)` sets it.
macro_rules! probe {
    ($name:ident, $answer:ty) => {
        /// The answer to a question; none until it is asked.
        #[salsa::input]
        pub(super) struct $name {
            #[returns(ref)]
            answer: Option<std::sync::Arc<$answer>>,
        }

        impl $name {
            fn of(
                db: &dyn litmake_pipeline::query::Db,
                key: litmake_base::digest::Digest,
            ) -> $name {
                db.others().of(stringify!($name), key, || $name::new(db, None))
            }

            /// The answer; an error if it was not asked for.
            fn known(
                db: &dyn litmake_pipeline::query::Db,
                key: litmake_base::digest::Digest,
            ) -> litmake_base::diag::Result<std::sync::Arc<$answer>> {
                $name::of(db, key).answer(db).clone().ok_or_else($crate::probes::not_asked)
            }

            fn put(
                db: &mut dyn litmake_pipeline::query::Db,
                key: litmake_base::digest::Digest,
                answer: $answer,
            ) {
                let probe = $name::of(db, key);
                if probe.answer(db).as_deref() != Some(&answer) {
                    drop(salsa::Setter::to(probe.set_answer(db), Some(answer.into())));
                }
            }
        }
    };
}

pub(super) use probe;

/// The error where an answer is not known.
pub fn not_asked() -> Box<Diag> {
    Diag::new(
        "internal error: the version of a compiler, a machine or a device was not asked for; \
         please report it",
    )
}
