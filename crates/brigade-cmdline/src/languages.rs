//! The table of programs that run a language.

/// A program that runs programs of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LanguageRuntime {
    /// The name of the runtime.
    pub name: &'static str,
    /// The names of the languages whose files it runs; empty if it cannot run a file alone.
    pub languages: &'static [&'static str],
    /// The programs that it is known by, best first.
    pub programs: &'static [&'static str],
    /// A description for people; `None` for a runtime that every system has, which is not worth listing.
    pub description: Option<&'static str>,
    /// Whether new programs should not be written for it.
    pub is_deprecated: bool,
    /// The word with which its program prints its version.
    pub version: &'static str,
    /// The words that run a file, before its path.
    pub command: &'static str,
    /// The ending of a file name, without the dot.
    pub ending: &'static str,
    /// How to check and run a program that was written for a single use.
    pub written: Option<WrittenProgram>,
}

/// How to check and run a program that was written for a single use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenProgram {
    /// The name of the language.
    pub language: &'static str,
    /// The words that check a file without running it, before its path.
    pub check: &'static str,
    /// The words that run it, before its path. They create no files next to it.
    pub run: &'static str,
    /// The name of its file.
    pub file: &'static str,
}

const fn runtime(
    name: &'static str,
    programs: &'static [&'static str],
    description: Option<&'static str>,
) -> LanguageRuntime {
    LanguageRuntime {
        name,
        languages: &[],
        programs,
        description,
        is_deprecated: false,
        version: "--version",
        command: "",
        ending: "",
        written: None,
    }
}

impl LanguageRuntime {
    /// Every runtime, by name.
    pub const ALL: &[LanguageRuntime] = &[
        runtime("bash", &["bash"], Some("the shell Bash"))
            .runs(&["bash"], "bash", "sh")
            .writes("bash -n", "bash", "main.sh"),
        runtime("bun", &["bun"], Some("JavaScript and TypeScript with Bun")),
        runtime("deno", &["deno"], Some("JavaScript and TypeScript with Deno")).runs(
            &["typescript"],
            "deno run",
            "ts",
        ),
        LanguageRuntime { version: "version", ..runtime("go", &["go"], Some("the Go toolchain")) },
        LanguageRuntime {
            version: "-version",
            ..runtime("java", &["java"], Some("the Java virtual machine"))
        },
        runtime("node", &["node"], Some("JavaScript with Node.js"))
            .runs(&["javascript"], "node", "mjs")
            .writes("node --check", "node", "main.js"),
        runtime("perl", &["perl"], Some("Perl 5")).runs(&["perl"], "perl", "pl"),
        runtime("php", &["php"], Some("PHP")),
        runtime("python", &["python3"], Some("Python 3")).runs(&["python"], "python3", "py").writes(
            "python3 -m ast",
            "python3 -B",
            "main.py",
        ),
        LanguageRuntime {
            is_deprecated: true,
            ..runtime("python2", &["python2", "python2.7"], Some("Python 2"))
        },
        runtime("ruby", &["ruby"], Some("Ruby")).runs(&["ruby"], "ruby", "rb"),
        runtime("rust", &["cargo", "rustc"], Some("the Rust toolchain")),
        runtime("sh", &["sh"], None).runs(&["sh", "shell"], "sh", "sh"),
    ];

    /// Creates a runtime that runs files of these languages.
    const fn runs(
        self,
        languages: &'static [&'static str],
        command: &'static str,
        ending: &'static str,
    ) -> LanguageRuntime {
        LanguageRuntime { languages, command, ending, ..self }
    }

    /// Allows writing programs of its first language for a single use.
    const fn writes(self, check: &'static str, run: &'static str, file: &'static str) -> LanguageRuntime {
        let written = WrittenProgram { language: self.languages[0], check, run, file };
        LanguageRuntime { written: Some(written), ..self }
    }

    /// Returns the runtime of a language, in any case of its name.
    ///
    /// ```
    /// use brigade_cmdline::LanguageRuntime;
    ///
    /// assert_eq!(LanguageRuntime::of_language("JavaScript").unwrap().command, "node");
    /// assert!(LanguageRuntime::of_language("cobol").is_none());
    /// ```
    pub fn of_language(language: &str) -> Option<&'static LanguageRuntime> {
        LanguageRuntime::ALL
            .iter()
            .find(|runtime| runtime.languages.iter().any(|name| name.eq_ignore_ascii_case(language)))
    }

    /// Returns whether it has this name, or runs files of a language with this name, in any case.
    pub fn is_called(&self, name: &str) -> bool {
        let is_name = |known: &&str| known.eq_ignore_ascii_case(name);
        is_name(&self.name) || self.languages.iter().any(is_name)
    }

    /// Returns how to run programs that were written for a single use, by language.
    pub fn written() -> impl Iterator<Item = WrittenProgram> {
        LanguageRuntime::ALL.iter().filter_map(|runtime| runtime.written)
    }

    /// Returns the names of all languages whose files can be run, in alphabetical order.
    pub fn languages() -> Vec<&'static str> {
        let mut names: Vec<&str> =
            LanguageRuntime::ALL.iter().flat_map(|runtime| runtime.languages).copied().collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv::Argv;
    use crate::programs::Program;

    #[test]
    fn every_command_starts_with_a_known_program() {
        for runtime in LanguageRuntime::ALL {
            let written = runtime.written.iter().flat_map(|written| [written.check, written.run]);
            for line in written.chain([runtime.command]).filter(|line| !line.is_empty()) {
                let argv = Argv::parse(line).unwrap();
                assert_eq!(argv.program(), runtime.programs[0], "{line}");
                assert!(Program::from_word(argv.program()).is_some(), "{line}");
            }
            assert_eq!(runtime.languages.is_empty(), runtime.command.is_empty(), "{}", runtime.name);
        }
        assert!(LanguageRuntime::ALL.is_sorted_by_key(|runtime| runtime.name));
    }

    #[test]
    fn a_language_has_one_runtime() {
        let names = LanguageRuntime::languages();
        assert_eq!(names, ["bash", "javascript", "perl", "python", "ruby", "sh", "shell", "typescript"]);
        assert_eq!(LanguageRuntime::of_language("Shell").map(|runtime| runtime.name), Some("sh"));
    }
}
