//! The comment syntax of a file, derived from its name.

/// A way to write a comment in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comment {
    /// `<!-- … -->`: Markdown, HTML, XML, and plain text.
    Html,
    /// `# …`: TOML, YAML, shells, Python, Ruby and many more.
    Hash,
    /// `// …`: JavaScript, TypeScript, Rust, Go, C and similar languages.
    Slashes,
    /// `/* … */`: CSS.
    Block,
    /// `{/* … */}`: MDX.
    Mdx,
    /// `; …`: INI files and Lisps.
    Semicolon,
    /// `-- …`: SQL, Lua, Haskell.
    Dashes,
    /// `% …`: TeX, Erlang.
    Percent,
    /// `" …`: Vim.
    Quote,
    /// `REM …`: batch files.
    Rem,
}

impl Comment {
    /// All variants.
    pub const ALL: [Comment; 10] = [
        Comment::Html,
        Comment::Hash,
        Comment::Slashes,
        Comment::Block,
        Comment::Mdx,
        Comment::Semicolon,
        Comment::Dashes,
        Comment::Percent,
        Comment::Quote,
        Comment::Rem,
    ];

    /// Returns the start of a comment.
    pub fn open(self) -> &'static str {
        match self {
            Comment::Html => "<!--",
            Comment::Hash => "#",
            Comment::Slashes => "//",
            Comment::Block => "/*",
            Comment::Mdx => "{/*",
            Comment::Semicolon => ";",
            Comment::Dashes => "--",
            Comment::Percent => "%",
            Comment::Quote => "\"",
            Comment::Rem => "REM",
        }
    }

    /// Returns the end of a comment; empty if the comment ends with the line.
    pub fn close(self) -> &'static str {
        match self {
            Comment::Html => "-->",
            Comment::Block => "*/",
            Comment::Mdx => "*/}",
            Comment::Hash
            | Comment::Slashes
            | Comment::Semicolon
            | Comment::Dashes
            | Comment::Percent
            | Comment::Quote
            | Comment::Rem => "",
        }
    }

    /// Returns whether files with this comment syntax may contain prose.
    pub fn holds_prose(self) -> bool {
        matches!(self, Comment::Html | Comment::Mdx)
    }

    /// Formats a text as a comment, without a line feed. The text must not contain the end of the comment.
    pub(crate) fn write(self, text: &str) -> String {
        let mut line = String::with_capacity(text.len() + 10);
        line.push_str(self.open());
        if !text.is_empty() {
            line.push(' ');
            line.push_str(text);
        }
        if !self.close().is_empty() {
            line.push(' ');
            line.push_str(self.close());
        }
        line
    }

    /// Returns the text of a line that consists only of such a comment.
    pub(crate) fn read(self, line: &str) -> Option<&str> {
        let inside = line.trim().strip_prefix(self.open())?;
        Some(inside.strip_suffix(self.close())?.trim())
    }
}

/// The extensions of nearly all targets. They are checked first for speed.
const PROSE: &[&str] = &["md", "mdc", "markdown", "txt", "html", "htm", "xml", "svg"];

/// Names of files that are not text or whose format has no comments.
const WITHOUT_COMMENTS: &[&str] = &[
    "json",
    "jsonl",
    "ndjson",
    "geojson",
    "webmanifest",
    "ipynb",
    "csv",
    "tsv",
    "lock",
    "diff",
    "patch",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "webp",
    "ico",
    "pdf",
    "zip",
    "gz",
    "tar",
    "wasm",
    "so",
    "dylib",
    "dll",
    "exe",
    "bin",
    "db",
    "sqlite",
];

/// File name extensions by comment syntax. All other files count as Markdown or plain text.
const BY_EXTENSION: &[(Comment, &[&str])] = &[
    (
        Comment::Hash,
        &[
            "toml",
            "yaml",
            "yml",
            "sh",
            "bash",
            "zsh",
            "fish",
            "ksh",
            "py",
            "pyi",
            "rb",
            "pl",
            "pm",
            "r",
            "jl",
            "nix",
            "tcl",
            "ps1",
            "psm1",
            "psd1",
            "cfg",
            "conf",
            "properties",
            "env",
            "mk",
            "cmake",
            "tf",
            "hcl",
            "ex",
            "exs",
            "cr",
            "nim",
            "awk",
            "sed",
            "bzl",
            "star",
            "graphql",
            "gql",
            "coffee",
            "nu",
            "just",
            "dockerfile",
            "gitignore",
            "service",
        ],
    ),
    (
        Comment::Slashes,
        &[
            "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "jsonc", "json5", "rs", "go", "c", "h",
            "cc", "cpp", "hpp", "cxx", "java", "kt", "kts", "swift", "scala", "cs", "dart", "zig", "groovy",
            "gradle", "scss", "less", "proto", "fs", "fsx", "v", "sol", "jsonnet",
        ],
    ),
    (Comment::Block, &["css"]),
    (Comment::Mdx, &["mdx"]),
    (Comment::Semicolon, &["ini", "lisp", "el", "clj", "cljs", "cljc", "edn", "scm", "rkt", "asm", "reg"]),
    (Comment::Dashes, &["sql", "lua", "hs", "elm", "ada", "adb", "vhd", "applescript"]),
    (Comment::Percent, &["tex", "sty", "erl", "hrl"]),
    (Comment::Quote, &["vim"]),
    (Comment::Rem, &["bat", "cmd"]),
];

/// Names of files without an extension that use `#` comments.
const HASH_NAMES: &[&str] = &[
    "makefile",
    "gnumakefile",
    "dockerfile",
    "containerfile",
    "justfile",
    "gemfile",
    "rakefile",
    "vagrantfile",
    "procfile",
    "brewfile",
    "pipfile",
    "codeowners",
    ".env",
    ".envrc",
    ".gitignore",
    ".gitattributes",
    ".dockerignore",
    ".ignore",
    ".editorconfig",
    ".npmrc",
    ".bashrc",
    ".zshrc",
    ".profile",
];

/// Returns the comment syntax of a file.
///
/// Returns `None` if the format has no comments. `body` matters only if the name is inconclusive: a file that begins
/// with `#!` is a program.
pub fn comment_of(path: &str, body: &str) -> Option<Comment> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    if HASH_NAMES.contains(&name.as_str()) {
        return Some(Comment::Hash);
    }
    let extension = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => return Some(if body.starts_with("#!") { Comment::Hash } else { Comment::Html }),
    };
    if PROSE.contains(&extension) {
        return Some(Comment::Html);
    }
    if WITHOUT_COMMENTS.contains(&extension) {
        return None;
    }
    let known = BY_EXTENSION.iter().find(|(_, extensions)| extensions.contains(&extension));
    Some(known.map_or(Comment::Html, |(comment, _)| *comment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: Option<Comment>) {
        assert_eq!(comment_of(path, "text\n"), expect, "{path}");
    }

    #[test]
    fn the_name_tells_the_comment() {
        check(".claude/commands/a.md", Some(Comment::Html));
        check(".cursor/rules/a.mdc", Some(Comment::Html));
        check(".cursorrules", Some(Comment::Html));
        check("NOTES", Some(Comment::Html));
        check(".gemini/commands/a.TOML", Some(Comment::Hash));
        check("Makefile", Some(Comment::Hash));
        check(".env", Some(Comment::Hash));
        check("plugin/a.ts", Some(Comment::Slashes));
        check("a.css", Some(Comment::Block));
        check("a.jsonc", Some(Comment::Slashes));
        check(".vscode/mcp.json", None);
        check("a.b/image.png", None);
    }

    #[test]
    fn the_first_line_identifies_a_program() {
        assert_eq!(comment_of("bin/run", "#!/bin/sh\n"), Some(Comment::Hash));
        assert_eq!(comment_of("bin/run", "text"), Some(Comment::Html));
    }

    #[test]
    fn what_is_written_is_read() {
        for comment in Comment::ALL {
            assert_eq!(comment.read(&comment.write("word")), Some("word"), "{comment:?}");
        }
    }
}
