pub const WORDS: &[(u32, &str)] = &[];
pub const PREFIXED: &[(u32, u32, &str)] = &[];
