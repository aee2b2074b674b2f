//! Finds, in a folder or beside a command, the program of a build that takes the place of a
//! profile's compiler. It does not know what programs do, or whether they can be run.

use std::path::Path;

use super::by_version;
use super::files::Files;

/// Splits the name of a compiler: the prefix of the tool, such as `aarch64-linux-gnu-`, and the
/// tool.
pub fn parts(compiler: &str) -> (&str, &str) {
    let file = compiler.rsplit('/').next().unwrap_or(compiler);
    let mut starts = file.rmatch_indices('-').map(|(i, _)| i + 1).chain([0]);
    let is_word = |i: &usize| file[*i..].starts_with(|c: char| c.is_ascii_alphabetic());
    let at = starts.find(is_word).unwrap_or(0);
    (&file[..at], file[at..].split('-').next().unwrap_or(file))
}

/// Whether a prefix names the target that the compiler makes code for.
fn is_target(prefix: &str) -> bool {
    prefix.matches('-').count() > 1
}

/// The program of a build that takes the place of a profile's compiler, `like`. A build is a folder
/// (with `bin/clang`, `bin/aarch64-linux-gnu-gcc`, ...), which is written with a `/`, or a command.
/// Beside a command, compilers for other targets have names like it: `aarch64-linux-gnu-gcc-13`
/// belongs to `gcc-13`.
pub fn program(files: &dyn Files, build: &str, like: &str) -> Option<String> {
    let (prefix, _) = parts(like);
    if build.contains('/') && !files.list(Path::new(build)).is_empty() {
        return in_folder(files, build, like);
    }
    let (folder, file) = match build.rsplit_once('/') {
        Some((folder, file)) => (format!("{folder}/"), file),
        None => (String::new(), build),
    };
    match parts(file).0 {
        own if own == prefix || prefix.is_empty() && !is_target(own) => {
            Some(format!("{folder}{file}"))
        }
        own if is_target(own) => None,
        _ => Some(format!("{folder}{prefix}{file}")),
    }
}

/// The program in the folder of a build: with the plain name, or with the highest version.
fn in_folder(files: &dyn Files, folder: &str, like: &str) -> Option<String> {
    let (prefix, tool) = parts(like);
    let plain = format!("{prefix}{tool}");
    for folder in [Path::new(folder).join("bin"), Path::new(folder).to_path_buf()] {
        let mut found: Vec<(String, String)> = Vec::new();
        for path in files.list(&folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let version = name.strip_prefix(&plain).map(|rest| match rest.strip_prefix('-') {
                Some(version) if version.starts_with(|c: char| c.is_ascii_digit()) => Some(version),
                _ => rest.is_empty().then_some(""),
            });
            if let Some(Some(version)) = version {
                found.push((version.to_string(), path.display().to_string()));
            }
        }
        // The plain name has no version, and is sorted to the end.
        found.sort_by(|a, b| {
            b.0.is_empty().cmp(&a.0.is_empty()).reverse().then(by_version(&a.0, &b.0))
        });
        if let Some((_, path)) = found.pop() {
            return Some(path);
        }
    }
    None
}

/// The builds that a folder stands for, as names and folders: the folder itself, or the folders in
/// it, in the order of their versions.
pub fn all(files: &dyn Files, folder: &str, like: &str) -> Vec<(String, String)> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if in_folder(files, folder, like).is_some() {
        return vec![(name(Path::new(folder)), folder.to_string())];
    }
    let mut out: Vec<(String, String)> = files
        .list(Path::new(folder))
        .into_iter()
        .map(|path| (name(&path), path.display().to_string()))
        .filter(|(_, path)| in_folder(files, path, like).is_some())
        .collect();
    out.sort_by(|a, b| by_version(&a.0, &b.0));
    out
}

/// The version that a build counts as: the folder that it is in, or the command.
pub fn version(build: &str) -> &str {
    let path = build.trim_end_matches('/');
    match path.rsplit_once("/bin/") {
        Some((folder, file)) if !file.contains('/') => folder,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;

    /// The paths of some files, from which the folders follow.
    struct Tree(&'static [&'static str]);

    impl Files for Tree {
        fn content(&self, _: &Path, _: u64) -> io::Result<Arc<[u8]>> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn list(&self, folder: &Path) -> Vec<PathBuf> {
            let below = self.0.iter().filter_map(|p| Path::new(p).strip_prefix(folder).ok());
            let first = below.filter_map(|p| p.components().next());
            let mut out: Vec<PathBuf> = first.map(|c| folder.join(c)).collect();
            out.sort();
            out.dedup();
            out
        }
        fn env(&self, _: &str) -> Option<String> {
            None
        }
        fn installed(&self, _: &str) -> bool {
            false
        }
    }

    #[test]
    fn names_of_compilers_have_parts() {
        for (name, expected) in [
            ("clang-19", ("", "clang")),
            ("/opt/x/bin/clang++", ("", "clang++")),
            ("aarch64-linux-gnu-gcc-12", ("aarch64-linux-gnu-", "gcc")),
            ("zig-0.13.0", ("", "zig")),
            ("clang-${version}", ("", "clang")),
        ] {
            assert_eq!(parts(name), expected, "{name}");
        }
    }

    #[test]
    fn a_build_is_a_folder_or_a_command() {
        let tree = Tree(&[
            "/b/one/bin/clang",
            "/b/one/bin/clang-23",
            "/b/two/bin/clang-9",
            "/b/two/bin/clang-10",
            "/b/two/bin/clang-format",
            "/b/gcc/bin/gcc",
            "/b/gcc/bin/aarch64-linux-gnu-gcc-14",
            "clang-19/bin/clang",
        ]);
        for (build, like, expected) in [
            ("/b/one", "clang-22", Some("/b/one/bin/clang")),
            ("/b/two/", "clang-22", Some("/b/two/bin/clang-10")),
            ("/b/two/bin", "clang-22", Some("/b/two/bin/clang-10")),
            ("/b/one/bin/clang-23", "clang-22", Some("/b/one/bin/clang-23")),
            ("/b/gcc", "gcc-12", Some("/b/gcc/bin/gcc")),
            ("/b/gcc", "aarch64-linux-gnu-gcc-12", Some("/b/gcc/bin/aarch64-linux-gnu-gcc-14")),
            ("/b/gcc", "arm-linux-gnueabihf-gcc-12", None),
            ("/b/one", "gcc-12", None),
            ("gcc-13", "aarch64-linux-gnu-gcc-12", Some("aarch64-linux-gnu-gcc-13")),
            ("/c/gcc", "aarch64-linux-gnu-gcc-12", Some("/c/aarch64-linux-gnu-gcc")),
            ("aarch64-linux-gnu-gcc-13", "gcc-12", None),
            ("my-clang", "clang-22", Some("my-clang")),
            // A word without `/` is a command, even if a folder has that name.
            ("clang-19", "clang-22", Some("clang-19")),
        ] {
            assert_eq!(program(&tree, build, like).as_deref(), expected, "{build} {like}");
        }
        let names = |folder: &str| -> Vec<String> {
            all(&tree, folder, "clang-${version}").into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("/b"), ["one", "two"]);
        assert_eq!(names("/b/one"), ["one"]);
        assert_eq!(names("/b/gcc"), [""; 0]);
    }

    #[test]
    fn a_build_is_called_by_its_folder() {
        for (build, expected) in
            [("/b/one/", "/b/one"), ("/b/one/bin/clang", "/b/one"), ("clang-23", "clang-23")]
        {
            assert_eq!(version(build), expected);
        }
    }
}
