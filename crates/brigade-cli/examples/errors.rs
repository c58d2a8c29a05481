//! Prints docs/errors.md: `cargo run -p brigade-cli --example errors`.
//!
//! `cargo xtask docs` writes it to `docs/errors.md`.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]

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
         On a terminal, the same parts are drawn with colour. With `--json`, the document has `code`, `labels` (`file`, `line`, \
         `column`, `length` and the name in `text`) and `help`.\n\n\
         An error has one of the codes below, or the code of its only blocker. [Reasons](#reasons) lists the codes of blockers. The \
         issues of `brigade tools doctor` have their own codes; [issues.md](issues.md) lists them. Built-in tools and the gateway \
         answer agents with codes of this page.\n\n\
         `cargo xtask docs` generates this page.\n\n\
         | code | meaning |\n| --- | --- |"
    );
    for code in brigade::codes::ALL {
        println!("| `{}` | {} |", code.as_str(), code.meaning());
    }
    println!(
        "\n## Reasons\n\n\
         A blocker is a reason why a call or another start is refused. In JSON, `blocker_details` has the `code` of each. Some \
         blockers have a code of the table above, of an issue, or of a fault in a PRD.\n\n\
         | code | meaning |\n| --- | --- |"
    );
    for code in brigade::codes::reasons::ALL {
        println!("| `{}` | {} |", code.as_str(), code.meaning());
    }
    println!(
        "\n## Registering\n\n\
         `brigade tools register` says in `errors` why it wrote nothing, and in `notes` what it did not take over. Some rows \
         have the code of an issue, or of a table above.\n\n\
         | code | meaning |\n| --- | --- |"
    );
    for code in brigade::codes::registering::ALL {
        println!("| `{}` | {} |", code.as_str(), code.meaning());
    }
}
