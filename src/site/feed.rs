//! Writes the feed (Atom, RFC 4287) of bugs that are new, reopened or fixed.
//!
//! It does not know where the record is stored, nor where the site will be.

use std::fmt::Write;

use litmake_base::digest::Digest;
use litmake_history::lives::{Bug, Change, History};
use litmake_history::tell;
use litmake_report::page::escaped;

use crate::bug_file;

/// The name of the file.
pub const FILE: &str = "feed.xml";

/// The number of entries, the newest ones.
const ENTRIES: usize = 100;

/// The feed. `base` is the address of the site, if it is known; links are relative to it.
pub fn feed(history: &History, version: &str, base: Option<&str>) -> String {
    let mut list: Vec<(usize, Change, &Bug)> = Vec::new();
    for at in (0..history.runs.len()).rev() {
        for change in [Change::New, Change::Reopened, Change::Fixed] {
            list.extend(history.changed(at, change).into_iter().map(|bug| (at, change, bug)));
        }
        if list.len() >= ENTRIES {
            break;
        }
    }
    list.truncate(ENTRIES);
    let updated = history.runs.last().map(|run| run.date).unwrap_or_default();
    let at = base.map(|b| format!(" xml:base=\"{}\"", escaped(b))).unwrap_or_default();
    let pipelines: Vec<&str> = history.runs.last().map(|r| &*r.pipeline).into_iter().collect();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\"{at}>\n\
         <id>{}</id>\n<title>Bugs: {}</title>\n<updated>{updated}</updated>\n\
         <author><name>litmake</name></author>\n\
         <generator version=\"{}\">litmake</generator>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"{FILE}\"/>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"bugs.html\"/>\n",
        uuid(&format!("feed {} {}", base.unwrap_or_default(), pipelines.concat())),
        escaped(&pipelines.concat()),
        escaped(version),
    );
    for (at, change, bug) in list {
        let date = history.runs[at].date;
        let mut said = vec![tell::present(bug)];
        said.extend(
            bug.spans
                .iter()
                .filter_map(|span| Some(format!("last good before: {}", span.last_good.as_ref()?))),
        );
        said.retain(|line| !line.is_empty());
        let _ = writeln!(
            out,
            "<entry>\n<id>{}</id>\n<title>{}: {}</title>\n<updated>{date}</updated>\n\
             <link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n\
             <category term=\"{}\"/>\n<summary>{}</summary>\n</entry>",
            uuid(&format!("{} {} {date}", bug.id, change.name())),
            change.name(),
            escaped(&bug.title),
            bug_file(&bug.id),
            change.name(),
            escaped(&said.join("; ")),
        );
    }
    out + "</feed>\n"
}

/// A name that lasts: the digest of a text in the form of a UUID of version 8, which leaves its content to
/// whoever makes it.
fn uuid(text: &str) -> String {
    let mut hex = Digest::of(text.as_bytes()).hex();
    hex.truncate(32);
    hex.replace_range(12..13, "8");
    hex.replace_range(16..17, "8");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("urn:uuid:{}", parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_form_of_a_uuid_and_lasts() {
        let name = uuid("a");
        assert_eq!((name.len(), &name), (45, &uuid("a")));
        assert_ne!(name, uuid("b"));
        let parts: Vec<usize> = name["urn:uuid:".len()..].split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!((&name[23..24], &name[28..29]), ("8", "8"));
    }
}
