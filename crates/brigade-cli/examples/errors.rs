//! Writes the page of all codes of errors: `cargo run -p brigade-cli --example errors`.
//!
//! `cargo xtask docs` keeps it as `docs/errors.md`.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]

fn main() {
    println!(
        "# Errors\n\n\
         A command that fails says why on standard error:\n\n\
         ```text\n\
         error[CODE]: sentence\n \
         --> FILE:LINE:COLUMN\n  \
         |\n\
         3 | the line of the file\n  \
         |     ^^^\n\
         help: what to do next\n\
         ```\n\n\
         A terminal gets the same as a drawing. With `--json`, the document has `code`, `labels` (`file`, `line`, `column`, \
         `length`, and as `text` what stands there) and `help`.\n\n\
         An error has one of these codes. The reasons behind it, and the issues of `brigade tools doctor`, have codes of \
         their own; [issues.md](issues.md) explains those of issues.\n\n\
         This page is written by `cargo xtask docs`.\n\n\
         | code | meaning |\n| --- | --- |"
    );
    for code in brigade::codes::ALL {
        println!("| `{}` | {} |", code.as_str(), code.meaning());
    }
}
