//! Reads static libraries: finds the member that defines a name, and gives its bytes.
//!
//! It does not know what members contain.

use litmake_base::failure::Failure;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use litmake_base::file;
use object::read::archive::ArchiveFile;

/// A static library.
pub struct Library {
    /// The path.
    pub path: PathBuf,
    data: Vec<u8>,
    /// The range of the member that defines each name.
    members: HashMap<String, (u64, u64)>,
}

impl Library {
    /// Reads an archive and its index of names.
    pub fn open(path: &Path) -> Result<Library, Failure> {
        let bad = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let data = file::read(path, file::MAX_DATA).map_err(|e| bad(&e))?;
        let mut members = HashMap::new();
        {
            let archive = ArchiveFile::parse(data.as_slice()).map_err(|e| bad(&e))?;
            if let Some(symbols) = archive.symbols().map_err(|e| bad(&e))? {
                for symbol in symbols {
                    let symbol = symbol.map_err(|e| bad(&e))?;
                    let member = archive.member(symbol.offset()).map_err(|e| bad(&e))?;
                    let name = String::from_utf8_lossy(symbol.name()).into_owned();
                    members.entry(name).or_insert(member.file_range());
                }
            }
        }
        Ok(Library { path: path.to_path_buf(), data, members })
    }

    /// The member that defines a name, with a number that identifies the member.
    fn member_of(&self, name: &str) -> Option<(u64, &[u8])> {
        let (offset, size) = self.members.get(name)?;
        let from = usize::try_from(*offset).ok()?;
        let to = from.checked_add(usize::try_from(*size).ok()?)?;
        Some((*offset, self.data.get(from..to)?))
    }
}

/// A member of some libraries: what tells it from others, and its bytes.
pub type Member<'a> = ((usize, u64), &'a [u8]);

/// The first member of these libraries that defines a name.
pub fn member<'a>(
    libraries: impl IntoIterator<Item = &'a Library>,
    name: &str,
) -> Option<Member<'a>> {
    let mut all = libraries.into_iter().enumerate();
    all.find_map(|(i, l)| l.member_of(name).map(|(at, data)| ((i, at), data)))
}
