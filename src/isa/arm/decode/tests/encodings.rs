pub const A32: &[(u32, &str)] = &[];
pub const T16: &[(u16, &str)] = &[];
pub const T32: &[(u16, u16, &str)] = &[];
