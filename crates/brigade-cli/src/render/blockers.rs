//! Reasons why a call may not run: what, which line decided, and how to change it.

use brigade::core::{Hint, Json, Place};
use brigade::{Blocker, Fault};

use super::fault;
use super::next::hint_text;
use super::page::Sheet;
use super::values;

/// Lists every reason, each with its line and its way out.
pub(crate) fn show(details: &[Json], sheet: &mut Sheet) {
    fault::list(details.iter().map(fault).collect(), sheet);
}

/// Makes the document of one reason.
pub(crate) fn detail(blocker: &Blocker) -> Json {
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

/// Reads the document of one reason.
fn fault(detail: &Json) -> Fault {
    let number = |key| values::integer(detail, key).and_then(|number| usize::try_from(number).ok());
    let place = values::some_text(detail, "file").map(|file| Place {
        line: number("line"),
        column: number("column"),
        ..Place::file(file)
    });
    let text = |key| values::some_text(detail, key).map(str::to_owned);
    Fault::new(values::text(detail, "code").to_owned(), values::text(detail, "message"))
        .at(place)
        .field(text("field"))
        .help(text("hint").map(Hint::from))
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
            sheet.write(Look { colour: Colour::Off, width: None, graphics: false }, None),
            "\
error[x]: $.paths: required

error[effect_denied]: effect `network` is denied
 --> policy.toml:3
help: strike it off the list

2 errors
"
        );
    }
}
