//! Cuts long lists of names into shards so that an added name changes few of them.
//!
//! It does not know what is named.

/// The average length of a shard. Whether a shard ends at a name depends on that name alone, so an
/// added name moves no other into another shard.
const MEAN_ROWS: u64 = 512;
const MAX_ROWS: usize = 2048;

/// The ends of the shards of a list of names.
pub fn cuts<'a>(names: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut count = 0;
    for (i, name) in names.enumerate() {
        count = i + 1;
        // FNV-1a, mixed once more: names that are numbered in sequence should not be cut at regular
        // distances.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if (hash >> 40).is_multiple_of(MEAN_ROWS) || count - start >= MAX_ROWS {
            out.push(count);
            start = count;
        }
    }
    if start < count {
        out.push(count);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_added_name_changes_one_shard() {
        let names: Vec<String> = (0..20_000).map(|i| format!("test-{i:05}")).collect();
        let shards = |names: &[String]| -> Vec<Vec<String>> {
            let mut start = 0;
            cuts(names.iter().map(String::as_str))
                .into_iter()
                .map(|end| names[std::mem::replace(&mut start, end)..end].to_vec())
                .collect()
        };
        let before = shards(&names);
        assert!(before.len() > 15 && before.len() < 100, "{}", before.len());
        let mut more = names.clone();
        more.insert(7000, "test-07000a".into());
        let after = shards(&more);
        let new = after.iter().filter(|s| !before.contains(s)).count();
        assert!(new <= 2, "{new} shards changed");
    }
}
