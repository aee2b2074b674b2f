//! The gamma and beta functions, for confidence intervals and significance.
//!
//! It knows nothing of counts or tests.

use std::f64::consts::PI;

/// Coefficients of Lanczos' approximation for g = 7.
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

/// The limit on the steps of a series or fraction. About the square root of the argument is needed,
/// and callers bound the argument.
const STEPS: usize = 200_000;
const SMALL: f64 = 1e-300;

/// The logarithm of the gamma function of a positive number.
pub fn ln_gamma(x: f64) -> f64 {
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let mut series = LANCZOS[0];
    for (i, c) in LANCZOS.iter().enumerate().skip(1) {
        series += c / (x + i as f64);
    }
    let t = x + 7.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + series.ln()
}

/// The regularised lower incomplete gamma function. For a whole number `a`, it is the chance that a
/// Poisson variable with mean `x` is at least `a`.
pub fn gamma_p(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let mut term = 1.0 / a;
        let mut total = term;
        for n in 1..STEPS {
            term *= x / (a + n as f64);
            total += term;
            if term < total * f64::EPSILON {
                break;
            }
        }
        (total * front).min(1.0)
    } else {
        let fraction = continued(x + 1.0 - a, |n| {
            let n = n as f64;
            (-n * (n - a), x + 2.0 * n + 1.0 - a)
        });
        (1.0 - front / fraction).max(0.0)
    }
}

/// The continued fraction `b0 + a1/(b1 + a2/(b2 + ...))`, by Lentz' method.
fn continued(b0: f64, term: impl Fn(usize) -> (f64, f64)) -> f64 {
    let nonzero = |v: f64| if v.abs() < SMALL { SMALL } else { v };
    let mut f = nonzero(b0);
    let (mut c, mut d) = (f, 0.0);
    for n in 1..STEPS {
        let (a, b) = term(n);
        d = 1.0 / nonzero(b + a * d);
        c = nonzero(b + a / c);
        f *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    f
}

/// The mean at which `gamma_p(a, mean)` is `p`.
pub fn gamma_p_inverse(a: f64, p: f64) -> f64 {
    if p <= 0.0 || a <= 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, a + 10.0 * a.sqrt() + 50.0);
    while gamma_p(a, high) < p && high < 1e18 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if gamma_p(a, middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function.
pub fn beta_i(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_i(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    let fraction = continued(1.0, |n| {
        let m = (n / 2) as f64;
        let top = if n % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        (top, 1.0)
    });
    (front / (a * fraction)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-3), "{a} is not {b}");
    }

    #[test]
    fn gamma_of_whole_numbers_is_a_factorial() {
        near(ln_gamma(1.0), 0.0);
        near(ln_gamma(11.0), 3_628_800f64.ln());
        near(ln_gamma(0.5), PI.sqrt().ln());
    }

    #[test]
    fn the_incomplete_gamma_is_a_poisson_tail() {
        near(gamma_p(1.0, 3.0), 1.0 - (-3f64).exp());
        // At least 2 with mean 0.5.
        near(gamma_p(2.0, 0.5), 1.0 - 1.5 * (-0.5f64).exp());
        near(gamma_p(3.0, 20.0), 1.0 - (-20f64).exp() * (1.0 + 20.0 + 200.0));
        for (a, p) in [(1.0, 0.975), (7.0, 0.025), (50.0, 0.5)] {
            near(gamma_p(a, gamma_p_inverse(a, p)), p);
        }
    }

    #[test]
    fn the_incomplete_beta_has_known_values() {
        near(beta_i(0.25, 1.0, 1.0), 0.25);
        near(beta_i(0.5, 2.0, 2.0), 0.5);
        near(beta_i(0.3, 1.0, 3.0), 1.0 - 0.7f64.powi(3));
        near(beta_i(0.9, 3.0, 1.0), 0.9f64.powi(3));
    }
}
