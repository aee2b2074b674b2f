//! The common parts of all HTML pages: frame, style, script, texts, tables and lists of facts. A
//! page needs no network.
//!
//! It does not know what pages are about.

use std::fmt::Write;

use super::picture;

/// The style of all pages, for light and dark.
pub fn style() -> String {
    format!("{}{}", include_str!("page.css"), picture::STYLE)
}

/// The script: copies texts, sorts and filters tables, and opens the target of a link.
pub const SCRIPT: &str = include_str!("page.js");

/// Where a page has its style and script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assets {
    /// In the page, which is a single file.
    Inside,
    /// In the files `style.css` and `page.js` beside it, which all pages share.
    Beside,
}

/// A foreign text, escaped for a page.
pub fn escaped(text: &str) -> String {
    let text = litmake_base::plain::text(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The beginning of a page, up to its content. `links` lead to the other pages, and `current` is
/// the link to this one.
pub fn begin(title: &str, assets: Assets, links: &[(&str, &str)], current: &str) -> String {
    let style = match assets {
        Assets::Inside => format!("<style>{}</style>", style()),
        Assets::Beside => "<link rel=\"stylesheet\" href=\"style.css\">".to_string(),
    };
    let title = escaped(title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title>{style}</head><body>\n"
    );
    if !links.is_empty() {
        out.push_str("<header><a class=\"skip\" href=\"#main\">To the content</a><nav aria-label=\"Pages\"><ul>");
        for (name, target) in links {
            let here = if *target == current { " aria-current=\"page\"" } else { "" };
            let _ = write!(out, "<li><a href=\"{target}\"{here}>{name}</a></li>");
        }
        out.push_str("</ul></nav></header>\n");
    }
    let _ = writeln!(out, "<main id=\"main\">\n<h1>{title}</h1>");
    out
}

/// The end of a page.
pub fn end(assets: Assets, version: &str, out: &mut String) {
    let script = match assets {
        Assets::Inside => format!("<script>{SCRIPT}</script>"),
        Assets::Beside => "<script src=\"page.js\"></script>".to_string(),
    };
    let _ = write!(
        out,
        "</main>\n<footer><p class=\"dim\">litmake {}</p></footer>\n{script}\n</body></html>\n",
        escaped(version)
    );
}

/// A preformatted text.
pub fn pre(text: &str, out: &mut String) {
    let _ = writeln!(out, "<pre>{}</pre>", escaped(text.trim_end()));
}

/// A preformatted text with a button to copy it. `name` describes it to screen readers.
pub fn copied(name: &str, text: &str, out: &mut String) {
    let _ = writeln!(
        out,
        "<pre class=\"copy\" aria-label=\"{}\">{}</pre>",
        escaped(name),
        escaped(text.trim_end())
    );
}

/// A heading and a text, or nothing if the text is empty.
pub fn part(level: u8, head: &str, text: &str, out: &mut String) {
    if !text.trim().is_empty() {
        let _ = write!(out, "<div><h{level}>{}</h{level}>", escaped(head));
        copied(head, text, out);
        out.push_str("</div>");
    }
}

/// A list of names and values; the values are escaped already, and empty ones are left out.
pub fn facts(facts: &[(&str, String)], out: &mut String) {
    let known: Vec<_> = facts.iter().filter(|(_, value)| !value.is_empty()).collect();
    if known.is_empty() {
        return;
    }
    out.push_str("<dl>");
    for (name, value) in known {
        let _ = write!(out, "<dt>{name}</dt><dd>{value}</dd>");
    }
    out.push_str("</dl>\n");
}

/// The kind of a column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Words, sorted as text.
    Text,
    /// Numbers, aligned to the right.
    Number,
    /// One of a few words, by which rows can be filtered.
    Choice,
    /// One of many narrow columns, with an upright head; cells can span several, so that it does not sort.
    Mark,
}

/// The beginning of a table that can be sorted and filtered, up to its rows; `thing` names what a
/// row is.
pub fn list(thing: &str, columns: &[(&str, Column)], out: &mut String) {
    let _ = write!(
        out,
        "<div class=\"scroll\"><table class=\"list\" data-thing=\"{}\"><thead><tr>",
        escaped(thing)
    );
    for (name, column) in columns {
        let more = match column {
            Column::Text => "",
            Column::Number => " class=\"n\"",
            Column::Choice => " data-choice",
            Column::Mark => " data-mark",
        };
        let _ = write!(out, "<th scope=\"col\"{more}>{}</th>", escaped(name));
    }
    out.push_str("</tr></thead><tbody>\n");
}

/// The end of [`list`].
pub fn end_list(out: &mut String) {
    out.push_str("</tbody></table></div>\n");
}

/// The beginning of a plain table, up to its rows.
pub fn table(heads: &[&str], out: &mut String) {
    out.push_str("<div class=\"scroll\"><table><thead><tr>");
    for head in heads {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escaped(head));
    }
    out.push_str("</tr></thead><tbody>\n");
}
