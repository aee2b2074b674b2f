//! Lists of tests: one path a line, `#` comments, and `@file` for a list in a list.
//!
//! It does not read tests. Files are read through a function, so that callers decide how.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::pack;
use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_base::file;

/// Lists nested deeper than this are an error.
const MAX_DEPTH: usize = 16;

/// A list and all lists in it may name this many tests.
const MAX_PATHS: usize = 20_000_000;

/// How a file is read.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// The paths that a list names, in order. Paths in a list are relative to the list.
pub fn read(list: &Path, file: ReadFile) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut open = Vec::new();
    let text = file(list).map_err(|e| {
        Diag::new(format!("cannot read the list {}: {e}", list.display()))
            .help("a list names one test a line")
    })?;
    expand(list, &text, file, &mut open, &mut paths)?;
    Ok(paths)
}

/// Arguments of a command line: files stay, and each `@list` becomes what it names.
pub fn arguments(args: &[String], file: ReadFile) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for arg in args {
        match arg.strip_prefix('@') {
            Some(list) if !list.is_empty() => paths.extend(read(Path::new(list), file)?),
            Some(_) => {
                return Err(Diag::new("expected a list's path behind `@`")
                    .help("`@tests/@all` reads the paths in the file tests/@all"));
            }
            None => paths.push(PathBuf::from(arg)),
        }
    }
    Ok(paths)
}

/// Stands for standard input where a path is expected.
pub const STDIN: &str = "-";

/// [`arguments`] from the disk, with the tests in a folder or an archive in its place. The list `@-` is read
/// from standard input, and the path [`STDIN`] stays.
pub fn tests(args: &[String]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let read = |p: &Path| match p == Path::new(STDIN) {
        true => io::read_to_string(io::stdin()),
        false => file::read_text(p, file::MAX_DATA),
    };
    for path in arguments(args, &read)? {
        if is_test(&path) {
            paths.push(path);
            continue;
        }
        if path.is_dir() {
            in_folder(&path, &mut paths)?;
            continue;
        }
        if !pack::is_archive(&path) || !path.is_file() {
            paths.push(path);
            continue;
        }
        let cannot =
            |e: io::Error| Diag::new(format!("cannot read the archive {}: {e}", path.display()));
        let file = file::open(&path).map_err(cannot)?;
        // The last of each name counts, and each name once.
        let mut seen = HashSet::new();
        pack::members(&file, |member, _| {
            if is_test(Path::new(&member.name)) && seen.insert(member.name.clone()) {
                paths.push(path.join(member.name));
            }
        })
        .map_err(cannot)?;
    }
    Ok(paths)
}

/// [`tests`] of which each must be there.
pub fn existing(args: &[String]) -> Result<Vec<PathBuf>> {
    let paths = tests(args)?;
    match paths.iter().find(|p| !p.is_file() && pack::member_of(p).is_none()) {
        Some(path) if path == Path::new(STDIN) => {
            Err(Diag::new("no test is read from standard input here").help("name a file"))
        }
        Some(path) => Err(Diag::new(format!("there is no file {}", path.display()))),
        None => Ok(paths),
    }
}

/// Whether a file is a test by its name.
pub fn is_test(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "litmus")
}

fn is_dangling(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}

/// The tests in a folder and in those within it, by name.
fn in_folder(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let before = paths.len();
    for entry in walkdir::WalkDir::new(folder).follow_links(true).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            // A link to nothing costs what it stands for, and no other test.
            Err(e) if e.path().is_some_and(is_dangling) => {
                paths.extend(e.path().filter(|p| is_test(p)).map(Path::to_path_buf));
                continue;
            }
            Err(e) => {
                let folder = folder.display();
                return Err(Diag::new(format!("cannot read the folder {folder}: {e}")));
            }
        };
        if entry.file_type().is_file() && is_test(entry.path()) {
            paths.push(entry.into_path());
        }
    }
    if paths.len() == before {
        return Err(Diag::new(format!("there is no test in the folder {}", folder.display()))
            .help("tests are files whose names end in `.litmus`"));
    }
    Ok(())
}

fn expand(
    list: &Path,
    text: &str,
    file: ReadFile,
    open: &mut Vec<PathBuf>,
    paths: &mut Vec<PathBuf>,
) -> Result<()> {
    let folder = list.parent().unwrap_or(Path::new(""));
    open.push(list.to_path_buf());
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset + (line.len() - line.trim_start().len());
        offset += line.len();
        let entry = line.split('#').next().unwrap_or("").trim();
        if entry.is_empty() {
            continue;
        }
        let error = |message: String| {
            let source = Source::new(list.display().to_string(), text);
            Diag::at(&source, Span::new(start, start + entry.len()), message)
        };
        if paths.len() >= MAX_PATHS {
            return Err(error(format!("a list names at most {MAX_PATHS} tests")));
        }
        let Some(inner) = entry.strip_prefix('@') else {
            paths.push(folder.join(entry));
            continue;
        };
        let inner = folder.join(inner.trim());
        if open.contains(&inner) {
            return Err(error(format!("the list {} contains itself", inner.display()))
                .help("take this line out"));
        }
        if open.len() >= MAX_DEPTH {
            return Err(error(format!("lists are nested at most {MAX_DEPTH} deep")));
        }
        let inner_text = file(&inner)
            .map_err(|e| error(format!("cannot read the list {}: {e}", inner.display())))?;
        expand(&inner, &inner_text, file, open, paths)?;
    }
    open.pop();
    Ok(())
}
