//! Prints docs/reference/errors.md: `cargo run -p brigade-cli --example errors`.
//!
//! `cargo xtask docs` writes it to `docs/reference/errors.md`.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]

mod page;

fn main() {
    println!(
        "# Errors\n\n\
         A command that fails prints an error to standard error:\n\n\
         ```text\n\
         error[CODE]: sentence\n \
         --> FILE:LINE:COLUMN\n  \
         |\n\
         3 | the line of the file\n  \
         |     ^^^\n\
         help: what to do next\n\
         ```\n\n\
         With `--json`, the document has `code`, `help` and `labels` (`file`, `line`, `column`, `length`, the name in \
         `text`).\n\n\
         An error has one of the codes below, or the code of its only blocker ([reasons](#reasons)). Built-in tools and the\n\
         gateway answer agents with the same codes. Issues of `brigade tools doctor` have [their own](issues.md).\n\n\
         `cargo xtask docs` generates this page.\n"
    );
    for code in brigade::ErrorCode::ERRORS {
        print_code(code.as_str(), code.meaning());
    }
    println!(
        "\n## Reasons\n\n\
         A blocker is a reason why a call or another start is refused. In JSON, `blocker_details` has the `code` of each. \
         Some\nblockers have a code from above, from the issues, or of a fault in a PRD.\n"
    );
    for code in brigade::ErrorCode::REASONS {
        print_code(code.as_str(), code.meaning());
    }
    println!(
        "\n## Registering\n\n\
         `brigade tools register` says in `errors` why it wrote nothing, and in `notes` what it did not take over. Some \
         codes are\nthose of issues, or from above.\n"
    );
    for code in brigade::ErrorCode::REGISTERING {
        print_code(code.as_str(), code.meaning());
    }
}

fn print_code(code: &str, meaning: &str) {
    print!("{}", page::wrap(&format!("- `{code}`: {meaning}"), "  "));
}
