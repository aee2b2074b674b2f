//! Archives of tests: tar files, which every system can make and read. Many small tests in one
//! file are listed and read faster than as many files.
//!
//! It does not read tests. A test in an archive goes by the archive's path and its own:
//! `corpus.tar/arm/mp.litmus`.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use litmake_base::file;

const BLOCK: usize = 512;
/// A member larger than this is no test.
pub const MAX_MEMBER: u64 = 16 << 20;
/// Names longer than this are an error.
const MAX_NAME: u64 = 1 << 16;

/// A file in an archive: its name, and where its content lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its path in the archive.
    pub name: String,
    /// The byte of the archive at which its content begins.
    pub offset: u64,
    /// The bytes of its content.
    pub len: u64,
}

/// Whether a file is an archive by its name.
pub fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "tar")
}

/// The archive and the member that a path names, where it names one.
pub fn member_of(path: &Path) -> Option<(PathBuf, String)> {
    // Few paths are taken apart.
    if !path.as_os_str().as_bytes().windows(5).any(|w| w == b".tar/") {
        return None;
    }
    let archive = path.ancestors().skip(1).find(|at| is_archive(at) && at.is_file())?;
    let name = path.strip_prefix(archive).ok()?;
    Some((archive.to_path_buf(), name.to_string_lossy().into_owned()))
}

/// Reads a file, or a member of an archive.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    match member_of(path) {
        Some((archive, name)) => in_archive(&archive, &name),
        None => whole(path),
    }
}

/// An archive that is open, with what lies in it; and the time and size that it had then.
struct Opened {
    path: PathBuf,
    stamp: (Option<SystemTime>, u64),
    file: File,
    members: HashMap<String, Member>,
}

/// The archive that was read last: tests are asked for one after the other.
static LAST: Mutex<Option<Arc<Opened>>> = Mutex::new(None);

fn in_archive(archive: &Path, name: &str) -> io::Result<Vec<u8>> {
    let stamp = std::fs::metadata(archive).map(|m| (m.modified().ok(), m.len()))?;
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let opened = match last.filter(|o| o.path == archive && o.stamp == stamp) {
        Some(opened) => opened,
        None => {
            let file = file::open(archive)?;
            let mut all = HashMap::new();
            members(&file, |member, _| {
                all.insert(member.name.clone(), member);
            })?;
            let opened =
                Arc::new(Opened { path: archive.to_path_buf(), stamp, file, members: all });
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened.clone());
            opened
        }
    };
    let missing = || io::Error::new(io::ErrorKind::NotFound, "it is not in the archive");
    read_member(&opened.file, opened.members.get(name).ok_or_else(missing)?)
}

/// [`std::fs::read`] for files most of which are small: nothing is asked about them before they
/// are read.
fn whole(path: &Path) -> io::Result<Vec<u8>> {
    // A device or a pipe that is named is not one of many.
    if path.starts_with("/dev") || path.starts_with("/proc") {
        return file::read(path, MAX_MEMBER);
    }
    let mut out = Vec::with_capacity(1 << 12);
    // Nobody waits here for a pipe that nobody writes to.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    // A `File` that is read to its end asks for its size and place first; what is taken of it not.
    file.take(MAX_MEMBER + 1).read_to_end(&mut out)?;
    if out.len() as u64 > MAX_MEMBER { Err(file::too_large(MAX_MEMBER)) } else { Ok(out) }
}

/// [`read`] for texts.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads the content of a member, at most [`MAX_MEMBER`] bytes of it.
pub fn read_member(file: &File, member: &Member) -> io::Result<Vec<u8>> {
    let mut out = vec![0; member.len.min(MAX_MEMBER) as usize];
    file.read_exact_at(&mut out, member.offset)?;
    Ok(out)
}

fn bad(offset: u64, what: &str) -> io::Error {
    let message = format!("no tar file: {what} at byte {offset}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Visits the files of an archive with their contents, in the order in which they lie there.
pub fn members(file: impl Read, mut each: impl FnMut(Member, &[u8])) -> io::Result<()> {
    let mut file = io::BufReader::with_capacity(1 << 20, file);
    let mut header = [0; BLOCK];
    let mut content = Vec::new();
    let mut long_name = None;
    let mut at = 0u64;
    loop {
        let mut got = Vec::with_capacity(BLOCK);
        (&mut file).take(BLOCK as u64).read_to_end(&mut got)?;
        match got.len() {
            BLOCK => header.copy_from_slice(&got),
            // Every writer marks the end with empty blocks: without them, members may be gone.
            0 if at > 0 => return Err(bad(at, "it ends before the mark of its end")),
            _ => return Err(bad(at, "it ends before a header does")),
        }
        if header.iter().all(|b| *b == 0) {
            return Ok(());
        }
        let blank = |i: usize| (148..156).contains(&i);
        let sum: u64 = (0..BLOCK).map(|i| if blank(i) { 32 } else { header[i].into() }).sum();
        if octal(&header[148..156]) != Some(sum) {
            return Err(bad(at, "no header"));
        }
        let len = octal(&header[124..136]).ok_or_else(|| bad(at, "no size"))?;
        let offset = at + BLOCK as u64;
        let kind = header[156];
        let limit = match kind {
            b'L' | b'x' => MAX_NAME,
            _ => MAX_MEMBER,
        };
        let padded = len.checked_next_multiple_of(BLOCK as u64);
        let padded = padded.ok_or_else(|| bad(at, "too large a size"))?;
        if len > limit {
            return Err(bad(at, "a member too large for a test"));
        }
        content.resize(padded as usize, 0);
        file.read_exact(&mut content).map_err(|_| bad(offset, "it ends before a member does"))?;
        content.truncate(len as usize);
        at = offset + padded;
        match kind {
            b'L' => long_name = Some(text(&content)),
            b'x' => long_name = pax_path(&content).or(long_name),
            b'0' | 0 => {
                let name = long_name.take().unwrap_or_else(|| name_of(&header));
                let name = inside(&name);
                each(Member { name, offset, len }, &content);
            }
            b'g' => {}
            _ => long_name = None,
        }
    }
}

/// The name that a member has within its archive, whose folder nothing leaves: as with other
/// programs, an absolute name starts there, and `..` does not lead out.
fn inside(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A text up to its first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn name_of(header: &[u8; BLOCK]) -> String {
    let name = text(&header[..100]);
    let prefix = match &header[257..263] == b"ustar\0" {
        true => text(&header[345..500]),
        false => String::new(),
    };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// A number in octal digits, or, where it is large, in the bytes themselves.
fn octal(bytes: &[u8]) -> Option<u64> {
    if bytes.first()? & 0x80 != 0 {
        let mut number = u64::from(bytes[0] & 0x7f);
        for byte in &bytes[1..] {
            number = number.checked_mul(256)?.checked_add(u64::from(*byte))?;
        }
        return Some(number);
    }
    let digits = text(bytes);
    let digits = digits.trim();
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// The path in an extended header: lines of a length, a key and a value.
fn pax_path(mut bytes: &[u8]) -> Option<String> {
    let mut out = None;
    while !bytes.is_empty() {
        let space = bytes.iter().position(|b| *b == b' ')?;
        let len: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
        let line = bytes.get(space + 1..len)?;
        if let Some(path) = line.strip_prefix(b"path=") {
            out = Some(text(path.strip_suffix(b"\n").unwrap_or(path)));
        }
        bytes = &bytes[len..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A header as POSIX has it, then the content.
    fn entry(kind: u8, prefix: &str, name: &str, content: &[u8]) -> Vec<u8> {
        let mut header = [0; BLOCK];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = kind;
        header[257..263].copy_from_slice(b"ustar\0");
        header[345..345 + prefix.len()].copy_from_slice(prefix.as_bytes());
        header[148..156].fill(b' ');
        let sum: u64 = header.iter().map(|b| u64::from(*b)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        let mut out = header.to_vec();
        out.extend_from_slice(content);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
        out
    }

    fn all(bytes: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
        let mut out = Vec::new();
        members(bytes, |m, content| {
            let from = m.offset as usize;
            assert_eq!(&bytes[from..from + m.len as usize], content);
            out.push((m.name, content.to_vec()));
        })?;
        Ok(out)
    }

    #[test]
    fn members_come_with_their_names() {
        let long = "d/".repeat(80) + "x.litmus";
        let path = format!("{} path={long}\n", long.len() + 10);
        let bytes = [
            entry(b'5', "", "dir/", b""),
            entry(b'0', "", "./a.litmus", b"one"),
            entry(0, "some/folder", "b.litmus", &[7; 1000]),
            entry(b'L', "", "././@LongLink", format!("{long}\0").as_bytes()),
            entry(b'0', "", "cut", b"two"),
            entry(b'x', "", "PaxHeaders/x", path.as_bytes()),
            entry(b'0', "", "cut", b""),
            vec![0; 1024],
        ]
        .concat();
        let found = all(&bytes).unwrap();
        let names: Vec<&str> = found.iter().map(|f| f.0.as_str()).collect();
        assert_eq!(names, ["a.litmus", "some/folder/b.litmus", &long, &long]);
        assert_eq!(found[1].1, [7; 1000]);
        for (at, what) in [(1800, "a header"), (2500, "a member")] {
            let cut = all(&bytes[..at]).unwrap_err().to_string();
            assert!(cut.starts_with(&format!("no tar file: it ends before {what} does")), "{cut}");
        }
        assert!(all(b"C test\n").unwrap_err().to_string().contains("it ends before a header"));
        assert!(all(&[b'x'; 600]).unwrap_err().to_string().contains("no header at byte 0"));
    }

    #[test]
    fn paths_lead_into_archives() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.tar");
        let bytes = [
            entry(b'0', "", "a/b.litmus", b"old"),
            entry(b'0', "", "a/b.litmus", b"new"),
            vec![0; 1024],
        ];
        std::fs::write(&path, bytes.concat()).unwrap();
        // The member that was appended last counts.
        assert_eq!(read_to_string(&path.join("a/b.litmus")).unwrap(), "new");
        let e = read(&path.join("a/c.litmus")).unwrap_err();
        assert_eq!(e.to_string(), "it is not in the archive");
        assert!(read(&dir.path().join("none/a.litmus")).is_err());
    }

    #[test]
    fn members_are_those_of_the_archive_whatever_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret.litmus");
        std::fs::write(&secret, "of the disk").unwrap();
        let absolute = secret.to_str().unwrap();
        let path = dir.path().join("c.tar");
        let bytes = [
            entry(b'L', "", "././@LongLink", format!("{absolute}\0").as_bytes()),
            entry(b'0', "", "cut", b"absolute"),
            entry(b'0', "", "x/../../../up.litmus", b"up"),
            entry(b'0', "", "./a//b.litmus", b"old"),
            entry(b'0', "", "a/b.litmus", b"new"),
        ]
        .concat();
        let end = vec![0; 1024];
        std::fs::write(&path, [&bytes[..], &end].concat()).unwrap();
        let listed = crate::list::tests(&[path.display().to_string()]).unwrap();
        let found: Vec<(String, String)> = listed
            .iter()
            .map(|p| {
                let inside = p.strip_prefix(&path).expect("a path into the archive");
                (inside.display().to_string(), read_to_string(p).unwrap())
            })
            .collect();
        let pair = |name: &str, text: &str| (name.to_string(), text.to_string());
        let expected = [
            pair(absolute.trim_start_matches('/'), "absolute"),
            pair("up.litmus", "up"),
            pair("a/b.litmus", "new"),
        ];
        assert_eq!(found, expected);
        // Cut between two members, it is said, and of which archive.
        std::fs::write(&path, &bytes).unwrap();
        let error = crate::list::tests(&[path.display().to_string()]).unwrap_err();
        assert!(error.message.contains(path.to_str().unwrap()), "{error}");
        assert!(error.message.contains("it ends before the mark of its end"), "{error}");
    }

    proptest! {
        #[test]
        fn anything_is_read_without_panics(at in 0usize..1536, byte: u8, cut in 0usize..2048) {
            let mut bytes = [entry(b'0', "p", "a", b"one"), entry(b'x', "", "b", b"12 path=abc\n")].concat();
            bytes[at] = byte;
            let _ = all(&bytes[..cut.min(bytes.len())]);
            let _ = pax_path(&bytes[at..]);
        }
    }
}
