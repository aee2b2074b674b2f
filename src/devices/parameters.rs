//! Parameters of an environment: numbers that have names in result files. A device says which;
//! what can be done with them is said once.

use litmake_base::diag::nearest;

/// Whether a parameter lies where it can.
pub fn range(name: &str, value: u32, low: u32, high: u32) -> Result<(), String> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(format!("`{name}` is {value}, and is to be from {low} to {high}"))
    }
}

/// What is said of a name that no parameter has.
pub fn unknown(name: &str, names: &[&str]) -> String {
    let near = nearest(name, names.iter().copied());
    let hint = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
    format!("there is no parameter `{name}`{hint}")
}

/// An environment of one kind of device: a struct of numbers, with their names.
#[macro_export]
macro_rules! environment {
    ($($(#[$doc:meta])* $field:ident $name:literal,)*) => {
        /// A testing environment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct Environment {
            $($(#[$doc])* pub $field: u32,)*
        }

        impl Environment {
            /// The parameters by the names that result files give them.
            pub const NAMES: &[&str] = &[$($name),*];
            /// The same as fields.
            pub const FIELDS: &[&str] = &[$(stringify!($field)),*];

            /// All parameters, in the order of their names in [`Self::NAMES`].
            pub fn values(&self) -> Vec<u32> {
                vec![$(self.$field),*]
            }

            /// The parameters as result files have them.
            pub fn params(&self) -> serde_json::Map<String, serde_json::Value> {
                let mut out = serde_json::Map::new();
                $(out.insert($name.into(), self.$field.into());)*
                out
            }

            /// Reads parameters; what is not named keeps its value, and unknown names are said.
            pub fn set(&mut self, name: &str, value: u32) -> Result<(), String> {
                match name {
                    $($name => self.$field = value,)*
                    _ => return Err(unknown(name, Self::NAMES)),
                }
                Ok(())
            }

            /// The environment that was recorded, where all its parameters are known.
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
