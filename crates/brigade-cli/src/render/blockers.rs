//! The blockers of a call: message, deciding line, and how to change it.

use brigade::core::Hint;
use brigade::policy::{Blocker, BlockerDetail, Fault};

use super::fault;
use super::next::CommandWords;
use super::page::Sheet;

/// Lists every blocker with its line and its help.
pub(crate) fn show(details: &[BlockerDetail], sheet: &mut Sheet) {
    fault::list(details.iter().map(fault).collect(), sheet);
}

/// Returns the document of a blocker.
pub(crate) fn detail(blocker: &Blocker, words: &CommandWords) -> BlockerDetail {
    let mut detail = BlockerDetail::from(blocker);
    detail.hint = blocker.hint.as_ref().map(|hint| words.hint(hint));
    detail
}

/// Converts the document of a blocker to a fault.
fn fault(detail: &BlockerDetail) -> Fault {
    let place = detail.place();
    Fault::new(detail.code.clone().unwrap_or_default(), &detail.message)
        .at(place)
        .field(detail.field.clone())
        .help(detail.hint.clone().map(Hint::from))
}

#[cfg(test)]
mod tests {
    use super::super::page::TextFormat;
    use super::super::text::Colour;
    use super::*;

    #[test]
    fn a_reason_has_its_line_and_help() {
        let read = |text: &str| serde_json::from_str::<BlockerDetail>(text).unwrap();
        let details = [
            r#"{"code": "effect_denied", "message": "effect `network` is denied", "file": "policy.toml",
                "line": 3, "field": "denied_effects", "hint": "strike it off the list"}"#,
            r#"{"code": "x", "message": "$.paths: required", "field": "$.paths"}"#,
        ]
        .map(read);
        let mut sheet = Sheet::default();
        show(&details, &mut sheet);
        assert_eq!(
            sheet.write(TextFormat { colour: Colour::Off, width: None }, None),
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
