//! LoongArch: objdump writes addresses without an offset alone, where the decoder has a 0 behind them.

/// Without the 0 of addresses that have no offset.
pub fn without_offsets(text: &str) -> String {
    let bare = ["am", "sc.q ", "llacq.", "screl."].iter().any(|p| text.starts_with(p));
    let text = if bare { text.strip_suffix(",0").unwrap_or(text) } else { text };
    text.to_string()
}
