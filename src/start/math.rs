//! The mathematical functions that the program takes from the C library otherwise: to find and load
//! its shared part for them takes longer than ten small tests. Where one is missing here, it is
//! loaded all the same.
//!
//! They are hidden: drivers that are loaded later keep to their own.

macro_rules! functions {
    ($of:ident of one: $($name:ident)*) => {$(
        std::arch::global_asm!(concat!(".hidden ", stringify!($name)));
        #[unsafe(no_mangle)]
        extern "C" fn $name(x: $of) -> $of {
            libm::$name(x)
        }
    )*};
    ($of:ident of two: $($name:ident)*) => {$(
        std::arch::global_asm!(concat!(".hidden ", stringify!($name)));
        #[unsafe(no_mangle)]
        extern "C" fn $name(x: $of, y: $of) -> $of {
            libm::$name(x, y)
        }
    )*};
}

functions! {
    f64 of one:
    acos asin atan cos cosh exp exp2 expm1 log log10 log1p log2 sin sinh tan tanh
}

functions! {
    f64 of two: atan2 hypot pow
}

functions! {
    f32 of one:
    acosf asinf atanf cosf coshf exp2f expf log1pf log2f logf sinf sinhf tanf tanhf
}

functions! {
    f32 of two: atan2f hypotf powf
}
