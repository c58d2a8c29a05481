//! The canonical form of RFC 8785, for data that other programs hash or verify.

use super::Json;
use super::write::write_string;

impl Json {
    /// Writes the canonical form of RFC 8785: keys sorted by UTF-16 code units, numbers as ECMAScript writes doubles,
    /// no whitespace.
    ///
    /// Numbers lose digits that a double cannot hold, as the RFC requires. Non-finite numbers, which the RFC excludes,
    /// become `null`.
    pub fn to_canonical(&self) -> String {
        let mut out = String::new();
        write(self, &mut out);
        out
    }
}

fn write(value: &Json, out: &mut String) {
    match value {
        Json::Number(number) => write_double(number.as_f64(), out),
        Json::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                if 0 < index {
                    out.push(',');
                }
                write(element, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut members: Vec<(&String, &Json)> = members.iter().collect();
            members.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
            out.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if 0 < index {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Json::Null | Json::Bool(_) | Json::String(_) => value.write_compact(out),
    }
}

/// Writes a double as ECMAScript's `Number::toString` does.
fn write_double(value: f64, out: &mut String) {
    if !value.is_finite() {
        out.push_str("null");
        return;
    }
    if value == 0.0 {
        out.push('0');
        return;
    }
    if value < 0.0 {
        out.push('-');
    }
    let (digits, exponent) = shortest_digits(value.abs());
    let count = i32::try_from(digits.len()).expect("a double has at most 17 digits");
    let point = exponent + 1;
    let zeros = |number: i32| "0".repeat(usize::try_from(number).unwrap_or(0));
    if count <= point && point <= 21 {
        out.push_str(&digits);
        out.push_str(&zeros(point - count));
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(point.unsigned_abs() as usize);
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    } else if -6 < point && point <= 0 {
        out.push_str("0.");
        out.push_str(&zeros(-point));
        out.push_str(&digits);
    } else {
        let (first, rest) = digits.split_at(1);
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        out.push_str(if exponent < 0 { "e-" } else { "e+" });
        out.push_str(&exponent.unsigned_abs().to_string());
    }
}

/// Returns the shortest digits that identify a positive double, and the exponent of the first digit. If two candidates
/// are equally near, the even one is used: the RFC requires this and the standard library does not guarantee it.
fn shortest_digits(value: f64) -> (String, i32) {
    let text = serde_json::Number::from_f64(value).expect("the value is finite").to_string();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().expect("an exponent is a small integer");
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let leading = i32::try_from(digits.len() - significant.len()).expect("a double is written in few digits");
    let first =
        exponent + i32::try_from(whole.len()).expect("a double is written in few digits") - 1 - leading;
    (significant.trim_end_matches('0').to_owned(), first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bits: u64, expect: &str) {
        let mut out = String::new();
        write_double(f64::from_bits(bits), &mut out);
        assert_eq!(out, expect);
    }

    #[test]
    fn doubles_of_appendix_b() {
        check(0x0000_0000_0000_0000, "0");
        check(0x8000_0000_0000_0000, "0");
        check(0x0000_0000_0000_0001, "5e-324");
        check(0x8000_0000_0000_0001, "-5e-324");
        check(0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308");
        check(0x4340_0000_0000_0000, "9007199254740992");
        check(0xc340_0000_0000_0000, "-9007199254740992");
        check(0x4430_0000_0000_0000, "295147905179352830000");
        check(0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22");
        check(0x44b5_2d02_c7e1_4af6, "1e+23");
        check(0x444b_1ae4_d6e2_ef4e, "999999999999999700000");
        check(0x444b_1ae4_d6e2_ef50, "1e+21");
        check(0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7");
        check(0x3eb0_c6f7_a0b5_ed8d, "0.000001");
        check(0x41b3_de43_5555_5553, "333333333.3333332");
        check(0x41b3_de43_5555_5554, "333333333.33333325");
        check(0x41b3_de43_5555_5555, "333333333.3333333");
        check(0x41b3_de43_5555_5556, "333333333.3333334");
        check(0x41b3_de43_5555_5557, "333333333.33333343");
        check(0xbecb_f647_612f_3696, "-0.0000033333333333333333");
        check(0x4314_3ff3_c1cb_0959, "1424953923781206.2");
    }

    #[test]
    fn the_example_of_section_3_2_2() {
        let text = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
        let expect = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
            \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(Json::parse(text).unwrap().to_canonical(), expect);
    }

    #[test]
    fn keys_sort_by_utf16_units() {
        let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
            "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
        let canonical = Json::parse(text).unwrap().to_canonical();
        let order = ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"];
        let places: Vec<usize> = order.iter().map(|word| canonical.find(word).unwrap()).collect();
        assert!(places.is_sorted());
    }
}
