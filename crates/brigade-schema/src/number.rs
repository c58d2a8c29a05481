//! Exact arithmetic on JSON numbers.
//!
//! A `serde_json` number is a 64-bit integer or a finite double. Comparing as `f64` would make 2^53 equal to 2^53 + 1,
//! and dividing doubles would make 0.3 not a multiple of 0.1. Integers therefore stay integers, and `multipleOf` uses
//! the decimal digits that the author wrote.

use std::cmp::Ordering;

use serde_json::Number;

/// 2^64 as a double, above every integer that a [`Number`] can hold.
const ABOVE_INTEGERS: f64 = 18_446_744_073_709_551_616.0;

/// A number in normal form. A double without a fraction that fits in 64 bits plus sign is an integer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Normal {
    Integer(i128),
    Float(f64),
}

impl Normal {
    pub(crate) fn from_value(number: &Number) -> Normal {
        if let Some(integer) = number.as_i64() {
            return Normal::Integer(i128::from(integer));
        }
        if let Some(integer) = number.as_u64() {
            return Normal::Integer(i128::from(integer));
        }
        let float = number.as_f64().unwrap_or(f64::NAN);
        // `-0.0` becomes the integer 0 here.
        if float.fract() == 0.0 && float.abs() < ABOVE_INTEGERS {
            Normal::Integer(float as i128)
        } else {
            Normal::Float(float)
        }
    }

    /// Compares without rounding.
    pub(crate) fn compare(self, other: Normal) -> Ordering {
        match (self, other) {
            (Normal::Integer(a), Normal::Integer(b)) => a.cmp(&b),
            (Normal::Float(a), Normal::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Normal::Integer(a), Normal::Float(b)) => integer_against_float(a, b),
            (Normal::Float(a), Normal::Integer(b)) => integer_against_float(b, a).reverse(),
        }
    }

    /// Returns bits that are equal exactly if the numbers are equal.
    pub(crate) fn key(self) -> (bool, i128) {
        match self {
            Normal::Integer(integer) => (true, integer),
            Normal::Float(float) => (false, i128::from(float.to_bits())),
        }
    }
}

/// In normal form a float either has a fraction or exceeds every integer, so the two are never equal.
fn integer_against_float(integer: i128, float: f64) -> Ordering {
    if float >= ABOVE_INTEGERS {
        Ordering::Less
    } else if float <= -ABOVE_INTEGERS {
        Ordering::Greater
    } else {
        // `floor < float`, so an integer equal to the floor is smaller.
        integer.cmp(&(float.floor() as i128)).then(Ordering::Less)
    }
}

/// Returns whether a number has no fraction: `1`, `1.0`, `1e300`.
pub(crate) fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Returns a count such as `maxLength`: a non-negative integer, which may be written `2.0`.
pub(crate) fn as_count(number: &Number) -> Option<u64> {
    match Normal::from_value(number) {
        Normal::Integer(integer) => u64::try_from(integer).ok(),
        Normal::Float(_) => None,
    }
}

/// `digits * 10^exponent`, without sign: the shortest decimal text that round-trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    pub(crate) fn from_value(number: &Number) -> Decimal {
        if let Some(integer) = number.as_u64() {
            return Decimal { digits: integer, exponent: 0 };
        }
        if let Some(integer) = number.as_i64() {
            return Decimal { digits: integer.unsigned_abs(), exponent: 0 };
        }
        let float = number.as_f64().unwrap_or(0.0).abs();
        // `{:e}` prints the shortest digits that round-trip: at most 17, so they fit in 64 bits.
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let shift = i32::try_from(fraction).unwrap_or(0);
        Decimal { digits: digits.parse().unwrap_or(0), exponent: exponent - shift }
    }

    /// Returns whether this is an integer multiple of `divisor`, which must not be zero.
    pub(crate) fn is_multiple_of(self, divisor: Decimal) -> bool {
        if self.digits == 0 {
            return true;
        }
        let modulus = u128::from(divisor.digits);
        let digits = u128::from(self.digits);
        let shift = self.exponent - divisor.exponent;
        if 0 <= shift {
            // Both factors stay below 2^64, so the product fits.
            ((digits % modulus) * power_of_ten(shift.unsigned_abs(), modulus)).is_multiple_of(modulus)
        } else {
            // A divisor that overflows exceeds the digits, which are not zero.
            10u128
                .checked_pow(shift.unsigned_abs())
                .and_then(|power| power.checked_mul(modulus))
                .is_some_and(|divisor| digits.is_multiple_of(divisor))
        }
    }
}

/// `10^exponent mod modulus`, for a modulus below 2^64.
fn power_of_ten(mut exponent: u32, modulus: u128) -> u128 {
    let mut result = 1 % modulus;
    let mut base = 10 % modulus;
    while exponent != 0 {
        if exponent & 1 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[track_caller]
    fn check_order(a: &str, b: &str, expect: Ordering) {
        let (x, y) = (Normal::from_value(&number(a)), Normal::from_value(&number(b)));
        assert_eq!(x.compare(y), expect, "{a} against {b}");
        assert_eq!(y.compare(x), expect.reverse(), "{b} against {a}");
        assert_eq!(x.key() == y.key(), expect == Ordering::Equal, "keys of {a} and {b}");
    }

    #[test]
    fn equal_values_compare_equal_in_any_form() {
        check_order("1", "1.0", Ordering::Equal);
        check_order("0", "-0.0", Ordering::Equal);
        check_order("100", "1e2", Ordering::Equal);
        check_order("9007199254740992", "9007199254740992.0", Ordering::Equal);
        check_order("1e300", "1e300", Ordering::Equal);
    }

    #[test]
    fn large_integers_do_not_round() {
        check_order("9007199254740993", "9007199254740992.0", Ordering::Greater);
        check_order("18446744073709551615", "18446744073709551616.0", Ordering::Less);
        check_order("-9223372036854775808", "-9223372036854775808.0", Ordering::Equal);
        check_order("-9223372036854775807", "-9223372036854775808.0", Ordering::Greater);
        check_order("18446744073709551615", "-1", Ordering::Greater);
    }

    #[test]
    fn fractions_lie_between_integers() {
        check_order("1", "1.5", Ordering::Less);
        check_order("2", "1.5", Ordering::Greater);
        check_order("-1", "-1.5", Ordering::Greater);
        check_order("-2", "-1.5", Ordering::Less);
        check_order("0", "1e-300", Ordering::Less);
        check_order("0", "-1e-300", Ordering::Greater);
        check_order("3", "1e300", Ordering::Less);
        check_order("3", "-1e300", Ordering::Greater);
    }

    #[track_caller]
    fn check_multiple(value: &str, divisor: &str, expect: bool) {
        let found = Decimal::from_value(&number(value)).is_multiple_of(Decimal::from_value(&number(divisor)));
        assert_eq!(found, expect, "{value} multiple of {divisor}");
    }

    #[test]
    fn multiples_are_exact_in_decimal() {
        check_multiple("0.3", "0.1", true);
        check_multiple("0.0075", "0.0001", true);
        check_multiple("0.00751", "0.0001", false);
        check_multiple("19.99", "0.01", true);
        check_multiple("19.995", "0.01", false);
        check_multiple("4.5", "1.5", true);
        check_multiple("35", "1.5", false);
        check_multiple("-0.7", "0.1", true);
        check_multiple("0", "3", true);
        check_multiple("0.0", "1e-300", true);
    }

    #[test]
    fn multiples_do_not_overflow() {
        check_multiple("1e308", "0.5", true);
        check_multiple("1e308", "0.123456789", false);
        check_multiple("1e-300", "1e300", false);
        check_multiple("1e300", "1e-300", true);
        check_multiple("18446744073709551615", "5", true);
        check_multiple("18446744073709551614", "5", false);
        check_multiple("-9223372036854775808", "2", true);
        check_multiple("1e300", "18446744073709551615", false);
    }

    #[test]
    fn counts_are_non_negative_integers() {
        assert_eq!(as_count(&number("2.0")), Some(2));
        assert_eq!(as_count(&number("18446744073709551615")), Some(u64::MAX));
        assert_eq!(as_count(&number("-1")), None);
        assert_eq!(as_count(&number("1.5")), None);
        assert_eq!(as_count(&number("1e300")), None);
    }
}
