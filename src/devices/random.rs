//! Random numbers: the generator with which the paper's environments were drawn, and a fast one for
//! decisions inside a run.
//!
//! Both depend only on their seed.

/// The generator of the JavaScript library `seedrandom`: RC4 with a key that is mixed from the
/// characters of the seed, giving 52 bits for a number.
pub struct SeedRandom {
    i: u8,
    j: u8,
    state: [u8; 256],
}

impl SeedRandom {
    /// A generator with a text as seed.
    pub fn new(seed: &str) -> SeedRandom {
        let mut key: Vec<u8> = Vec::new();
        let mut smear: u32 = 0;
        for (n, unit) in seed.encode_utf16().enumerate() {
            let at = n & 255;
            if key.len() <= at {
                key.push(0);
            }
            smear ^= u32::from(key[at]).wrapping_mul(19);
            key[at] = (smear.wrapping_add(u32::from(unit)) & 255) as u8;
        }
        if key.is_empty() {
            key.push(0);
        }
        let mut state = [0; 256];
        for (n, byte) in state.iter_mut().enumerate() {
            *byte = n as u8;
        }
        let mut j = 0u8;
        for i in 0..256 {
            j = j.wrapping_add(key[i % key.len()]).wrapping_add(state[i]);
            state.swap(i, usize::from(j));
        }
        let mut out = SeedRandom { i: 0, j: 0, state };
        // The first bytes reveal too much of the key.
        for _ in 0..256 {
            out.byte();
        }
        out
    }

    fn byte(&mut self) -> u8 {
        self.i = self.i.wrapping_add(1);
        let t = self.state[usize::from(self.i)];
        self.j = self.j.wrapping_add(t);
        self.state.swap(usize::from(self.i), usize::from(self.j));
        self.state[usize::from(self.state[usize::from(self.i)].wrapping_add(t))]
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        let mut n: f64 = (0..6).fold(0.0, |n, _| n * 256.0 + f64::from(self.byte()));
        let mut d = 2f64.powi(48);
        let mut x = 0u32;
        while n < 2f64.powi(52) {
            n = (n + f64::from(x)) * 256.0;
            d *= 256.0;
            x = u32::from(self.byte());
        }
        while n >= 2f64.powi(53) {
            n /= 2.0;
            d /= 2.0;
            x >>= 1;
        }
        (n + f64::from(x)) / d
    }

    /// A whole number in a range, both ends included.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        let width = f64::from(high) - f64::from(low) + 1.0;
        (self.unit() * width + f64::from(low)).floor() as u32
    }
}

/// The generator splitmix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator with a number as seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// A generator for a part of a run, whose seed is made from a seed and the names of the part.
    pub fn of(seed: &str, parts: &[&str]) -> Rng {
        let mut hasher = blake3::Hasher::new();
        for part in std::iter::once(&seed).chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Rng(u64::from_le_bytes(bytes))
    }

    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, and is asked for one at a time"
    )]
    /// The next number, of 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a bound; 0 if the bound is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }

    /// True with a chance in percent.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_that_of_seedrandom() {
        // The first number of the library's own documentation.
        assert_eq!(SeedRandom::new("hello.").unit(), 0.9282578795792454);
        assert_eq!(SeedRandom::new("hello.").between(0, 9), 9);
    }

    #[test]
    fn chances_of_0_and_100_are_certain() {
        let mut rng = Rng::of("s", &["a"]);
        assert!((0..1000).all(|_| rng.percent(100) && !rng.percent(0)));
        assert!((0..1000).all(|_| rng.below(7) < 7));
        assert_ne!(Rng::of("s", &["a", "b"]).next(), Rng::of("s", &["ab"]).next());
    }
}
