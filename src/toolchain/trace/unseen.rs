//! What tools do that cannot be observed, and the words for it.
//!
//! It does not know which calls show it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// An action whose result is no evidence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Unseen {
    /// It asks another program; where, or through what.
    Program(String),
    /// It reads these files in a way that is not followed.
    Files(String),
    /// It reads a device, which gives something else each time.
    Device(PathBuf),
    /// It reads a file that says how busy the machine is.
    Machine(PathBuf),
    /// It asks for the time of day.
    Clock,
    /// It asks when files were last read.
    LastRead,
    /// It reads at this path what it wrote there itself.
    Keeps(PathBuf),
    /// It looks at other paths each time, such as this.
    Restless(String),
    /// It cannot be followed, for a reason.
    Blind(String),
    /// A cage does not suit it, for a reason if one is known.
    Unfit(Option<String>),
}

impl Unseen {
    /// Whether it did look at what is no evidence. So its results say nothing about the next run.
    pub fn is_look(&self) -> bool {
        matches!(self, Unseen::Program(_) | Unseen::Files(_) | Unseen::Device(_) | Unseen::Clock)
    }

    /// Whether it keeps something at a path or in a folder above.
    pub fn keeps(&self, path: &Path) -> bool {
        matches!(self, Unseen::Keeps(place) if path.starts_with(place))
    }
}

/// Something on which the results of a tool may depend.
impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unseen::Program(place) => write!(f, "another program, {place}"),
            Unseen::Files(files) => f.write_str(files),
            Unseen::Device(path) => write!(f, "the device {}", path.display()),
            Unseen::Machine(path) => write!(f, "the state of the machine in {}", path.display()),
            Unseen::Clock => f.write_str("the time of day"),
            Unseen::LastRead => f.write_str("the times at which files were last read"),
            Unseen::Keeps(place) => write!(f, "what it keeps itself in {}", place.display()),
            Unseen::Restless(first) => {
                write!(f, "paths that are others each time, such as {first}")
            }
            Unseen::Blind(why) => write!(f, "anything: it cannot be followed ({why})"),
            Unseen::Unfit(why) => {
                f.write_str(
                    "anything beside the files that it looks at: it works otherwise, or not at all, in \
                     namespaces of its own",
                )?;
                why.as_ref().map_or(Ok(()), |why| write!(f, " ({why})"))
            }
        }
    }
}
