//! Reasons why a call may not run: what, which line decided, and how to change it.

use brigade::core::Json;

use super::next::hint_text;
use super::page::Sheet;
use super::text::{Text, Tone};
use super::values;

/// Lists every reason, each with its place and its way out.
pub(crate) fn show(details: &[Json], sheet: &mut Sheet) {
    for detail in details {
        sheet.indented(2, Text::new(Tone::Bad, "- ").then(Tone::Plain, values::text(detail, "message")));
        let place = match (values::text(detail, "file"), values::integer(detail, "line")) {
            ("", _) => None,
            (file, Some(line)) => Some(format!("{file}:{line}")),
            (file, None) => Some(file.to_owned()),
        };
        let field = values::text(detail, "field");
        let field = (!field.is_empty() && !values::text(detail, "message").contains(field)).then_some(field);
        let where_ = match (place, field) {
            (Some(place), Some(field)) => {
                Some(Text::new(Tone::Accent, &place).then(Tone::Faint, &format!(" ({field})")))
            }
            (Some(place), None) => Some(Text::new(Tone::Accent, &place)),
            (None, Some(field)) if field.starts_with('$') => Some(Text::new(Tone::Faint, field)),
            (None, Some(_) | None) => None,
        };
        if let Some(place) = where_ {
            sheet.indented(4, Text::new(Tone::Faint, "at ").and(place));
        }
        let hint = values::text(detail, "hint");
        if !hint.is_empty() {
            sheet.indented(4, Text::new(Tone::Faint, "hint: ").then(Tone::Plain, hint));
        }
    }
}

/// Makes the document of one reason.
pub(crate) fn detail(blocker: &brigade::Blocker) -> Json {
    let place = blocker.place.as_ref();
    Json::object([
        ("code", Json::from(blocker.code.as_ref())),
        ("message", Json::from(blocker.message.as_str())),
        ("file", Json::from(place.map(|place| place.file.clone()))),
        ("line", Json::from(place.and_then(|place| place.line))),
        ("field", Json::from(blocker.field.clone())),
        ("hint", Json::from(blocker.hint.as_ref().map(hint_text))),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::page::Look;
    use super::super::text::Colour;
    use super::*;

    #[test]
    fn a_reason_comes_with_its_line_and_the_way_to_change_it() {
        let details = [
            Json::parse(
                r#"{"code":"effect_denied","message":"effect `network` is denied","file":"policy.toml","line":3,
                    "field":"denied_effects","hint":"strike it off the list"}"#,
            )
            .unwrap(),
            Json::parse(r#"{"code":"x","message":"$.paths: required","field":"$.paths"}"#).unwrap(),
        ];
        let mut sheet = Sheet::default();
        show(&details, &mut sheet);
        assert_eq!(
            sheet.write(Look { colour: Colour::Off, width: None }),
            "  - effect `network` is denied\n    \
             at policy.toml:3 (denied_effects)\n    \
             hint: strike it off the list\n  \
             - $.paths: required\n"
        );
    }
}
