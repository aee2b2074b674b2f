//! The parameters of environments: numbers with names in result files. Each device lists its
//! parameters, and the macro here makes a type from the list.
//!
//! It does not know what parameters mean.

use litmake_base::diag::nearest;

/// Checks that a parameter is in its range.
pub fn range(name: &str, value: u32, low: u32, high: u32) -> Result<(), String> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(format!("`{name}` is {value}, and is to be from {low} to {high}"))
    }
}

/// The error for an unknown name of a parameter.
pub fn unknown(name: &str, names: &[&str]) -> String {
    let near = nearest(name, names.iter().copied());
    let hint = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
    format!("there is no parameter `{name}`{hint}")
}

/// Defines the environment of a kind of device: a struct of numbers with their names.
#[macro_export]
macro_rules! environment {
    ($($(#[$doc:meta])* $field:ident $name:literal,)*) => {
        /// A testing environment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct Environment {
            $($(#[$doc])* pub $field: u32,)*
        }

        impl Environment {
            /// The names of the parameters in result files.
            pub const NAMES: &[&str] = &[$($name),*];
            /// The names of the fields, in the same order.
            pub const FIELDS: &[&str] = &[$(stringify!($field)),*];

            /// All parameters, in the order of their names in [`Self::NAMES`].
            pub fn values(&self) -> Vec<u32> {
                vec![$(self.$field),*]
            }

            /// The parameters as in result files.
            pub fn params(&self) -> serde_json::Map<String, serde_json::Value> {
                let mut out = serde_json::Map::new();
                $(out.insert($name.into(), self.$field.into());)*
                out
            }

            /// Sets the parameter with a name; an unknown name is an error.
            pub fn set(&mut self, name: &str, value: u32) -> Result<(), String> {
                match name {
                    $($name => self.$field = value,)*
                    _ => return Err(unknown(name, Self::NAMES)),
                }
                Ok(())
            }

            /// A recorded environment; `None` if some parameter is unknown or out of range.
            pub fn recorded(params: &serde_json::Map<String, serde_json::Value>) -> Option<Environment> {
                let mut env = Environment::default();
                for (name, value) in params {
                    env.set(name, u32::try_from(value.as_u64()?).ok()?).ok()?;
                }
                env.check().is_ok().then_some(env)
            }
        }
    };
}
