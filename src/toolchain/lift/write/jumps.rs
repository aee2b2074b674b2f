//! Jumps to jumps. It knows where lines go and not what they do.

use std::collections::BTreeSet;

use super::Text;

/// Has jumps to jumps go where those go, and takes out what nothing leads to then: what is
/// shared by several ends of functions would look like a loop.
pub(super) fn straighten(texts: &mut [Vec<Text>]) {
    let len = texts.len();
    // The first line that is something, from a place on.
    let next = |texts: &[Vec<Text>], from: usize| {
        (from..len).find(|i| !texts[*i].is_empty()).unwrap_or(len)
    };
    let end = |texts: &[Vec<Text>], to: usize| {
        let mut at = next(texts, to);
        for _ in 0..len {
            match texts.get(at).map(Vec::as_slice) {
                Some([Text::Goto(further)]) => at = next(texts, *further),
                _ => break,
            }
        }
        at
    };
    for i in 0..len {
        let target = match texts[i].last() {
            Some(Text::Goto(to) | Text::Branch(_, to)) => end(texts, *to),
            _ => continue,
        };
        if let Some(Text::Goto(to) | Text::Branch(_, to)) = texts[i].last_mut() {
            *to = target;
        }
    }
    let targets: BTreeSet<usize> = texts
        .iter()
        .flatten()
        .filter_map(|t| match t {
            Text::Goto(to) | Text::Branch(_, to) => Some(*to),
            Text::Plain(_) => None,
        })
        .collect();
    let mut falls = true;
    for (i, text) in texts.iter_mut().enumerate() {
        falls |= targets.contains(&i);
        match text.as_slice() {
            [] => {}
            [Text::Goto(_)] if !falls => text.clear(),
            list => falls = !matches!(list.last(), Some(Text::Goto(_))),
        }
    }
}
