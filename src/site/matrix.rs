//! Writes the matrix of compiler versions against bugs.
//!
//! It does not know where the record is stored.

use std::collections::BTreeSet;
use std::fmt::Write;

use litmake_history::lives::{Bug, History};
use litmake_report::page::{self, Column, escaped};

use crate::{begin, bug_link, end, state};

/// A key that sorts numbers in names by value: `clang 9` before `clang 16`.
fn natural(name: &str) -> Vec<(u64, String)> {
    name.split([' ', '.', '-'])
        .map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            (digits.parse().unwrap_or(u64::MAX), part.to_string())
        })
        .collect()
}

/// The page with the matrix.
pub fn matrix(history: &History, version: &str) -> String {
    let mut out = begin("Bugs by compiler", "matrix.html");
    let names: BTreeSet<&String> = history.bugs.iter().flat_map(|b| b.compilers.keys()).collect();
    let mut columns: Vec<&str> = names.into_iter().map(String::as_str).collect();
    columns.sort_by_cached_key(|name| natural(name));
    out.push_str(
        "<p><b>yes</b>: a profile of this compiler showed the bug when it was last asked. <b>no</b>: the bug's \
         tests ran, and none did. Nothing: nobody asked.</p>\n<div class=\"matrix\">",
    );
    let mut heads = vec![("bug", Column::Text), ("what", Column::Text), ("state", Column::Choice)];
    heads.extend(columns.iter().map(|c| (*c, Column::Text)));
    page::list("bugs", &heads, &mut out);
    let mut list: Vec<&Bug> = history.bugs.iter().collect();
    list.sort_by(|a, b| (a.state, b.first, &a.id).cmp(&(b.state, a.first, &b.id)));
    for bug in list {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"wide\">{}</td><td>{}</td>",
            bug_link(bug),
            escaped(&bug.title),
            state(bug)
        );
        for column in &columns {
            out.push_str(match bug.compilers.get(*column) {
                Some(true) => "<td class=\"bad\">yes</td>",
                Some(false) => "<td class=\"good\">no</td>",
                None => "<td></td>",
            });
        }
        out.push_str("</tr>\n");
    }
    page::end_list(&mut out);
    out.push_str("</div>\n");
    end(version, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_their_order() {
        let mut names = ["gcc 12.2.0", "clang 16.0.6", "clang 9.0.1", "clang 16"];
        names.sort_by_cached_key(|n| natural(n));
        assert_eq!(names, ["clang 9.0.1", "clang 16", "clang 16.0.6", "gcc 12.2.0"]);
    }
}
