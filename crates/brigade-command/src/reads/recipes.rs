//! Reads the text of makefiles and justfiles, as far as it is plain.
//!
//! The plain constructs are listed here, and everything else makes a text not plain. Then nobody but the program itself
//! can tell which recipe runs, and where; so the caller follows all of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::variables::{is_dangerous_variable, names_code};

/// The language of a file of recipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Make,
    Just,
}

impl Language {
    /// Tells whether a line is put together from variables before a shell gets it.
    pub(super) fn has_variables(self, line: &str) -> bool {
        match self {
            Language::Make => line.contains('$'),
            Language::Just => line.contains("{{") || line.contains('$') || line.starts_with("#!"),
        }
    }
}

/// What one or more files of recipes say.
#[derive(Debug)]
pub(super) struct Recipes {
    /// The recipes by their names.
    pub(super) by_name: BTreeMap<String, Recipe>,
    /// What runs when nothing is named.
    pub(super) first: Option<String>,
    /// Whether the text has only constructs that are known here, and nothing else decides what runs.
    pub(super) is_plain: bool,
    /// Whether nobody but the program can tell which lines are those of a recipe.
    pub(super) is_loose: bool,
    /// Every line that may be one of a recipe.
    pub(super) lines: Vec<Line>,
    /// What stands beside the recipes, line by line.
    pub(super) beside: Vec<String>,
    /// The lines of make that say what is made of what.
    pub(super) rules: Vec<String>,
    /// The files and modules that these lines load: each name with the others that it may mean.
    pub(super) loads: BTreeSet<String>,
    /// Commands that these lines start, such as a shell for the recipes.
    pub(super) starts: Vec<String>,
    /// The variables that are set, and to what at last.
    pub(super) variables: BTreeMap<String, String>,
    /// All texts that variables and parameters may have.
    pub(super) values: BTreeMap<String, BTreeSet<String>>,
    /// Variables that say where programs and code are found, with their values.
    pub(super) places: Vec<(String, String)>,
    /// The variables that lines of their own pass on to recipes, and whether all are passed on.
    exported: (BTreeSet<String>, bool),
}

/// One recipe.
#[derive(Debug, Default)]
pub(super) struct Recipe {
    /// What runs before it.
    pub(super) needs: Vec<String>,
    pub(super) lines: Vec<Line>,
}

impl Recipe {
    /// Returns a line of make with the names of what the recipe makes, and of what it makes that from.
    pub(super) fn without_names(&self, name: &str, line: &str) -> String {
        let first = self.needs.first().map(String::as_str).unwrap_or_default();
        let all = self.needs.join(" ");
        [("$@", name), ("$<", first), ("$^", &all), ("$+", &all), ("$?", &all)]
            .iter()
            .fold(line.to_owned(), |line, (sign, names)| line.replace(sign, names))
    }
}

/// A line of a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The file and the name of the recipe.
    pub(super) by: String,
    pub(super) command: String,
}

/// Takes the signs off that stand before the command in a line of a recipe.
fn command_of(line: &str) -> String {
    line.trim_matches(BLANKS).trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned()
}

/// What may stand around a line. To a shell, other white space is part of a word.
const BLANKS: [char; 2] = [' ', '\t'];

/// A line that may go on over several ones.
struct Joined {
    /// With a blank for each break.
    text: String,
    /// With the breaks, if one of them may end a comment: a shell that gets all of it reads on there.
    broken: Option<String>,
}

impl Joined {
    fn lines(text: &str, language: Language) -> Vec<Joined> {
        // Make takes the sign off that Windows puts there.
        let text = text.replace("\r\n", "\n");
        let mut found: Vec<Joined> = Vec::new();
        let mut goes_on = false;
        for line in text.lines() {
            let signs = line.len() - line.trim_end_matches('\\').len();
            let ends_open = if language == Language::Make { signs % 2 == 1 } else { signs != 0 };
            let part = if ends_open { &line[..line.len() - 1] } else { line };
            match found.last_mut().filter(|_| goes_on) {
                Some(before) => {
                    let is_broken = language == Language::Make && before.text.contains('#');
                    if is_broken || before.broken.is_some() {
                        let text = before.broken.get_or_insert_with(|| before.text.clone());
                        text.push_str("\\\n");
                        text.push_str(part.strip_prefix('\t').unwrap_or(part));
                    }
                    before.text.push(' ');
                    before.text.push_str(part);
                }
                None => found.push(Joined { text: part.to_owned(), broken: None }),
            }
            goes_on = ends_open;
        }
        found
    }
}

/// Returns the name of a target as make takes it.
pub(super) fn plain_name(mut name: &str) -> &str {
    while let Some(rest) = name.strip_prefix("./") {
        name = rest.trim_start_matches('/');
    }
    name
}

/// Returns the variable that a line of a makefile sets, for all recipes or for one: `go: private SHELL := x`.
fn set_variable(line: &str) -> Option<(&str, &str)> {
    let (head, value) = line.split_once('=')?;
    let name = head.trim_end_matches([':', '+', '?', '!', ' ', '\t']).rsplit([' ', '\t', ':']).next()?;
    Some((name, value.trim()))
}

/// How many texts of one variable are read.
const MOST_VALUES: usize = 8;

/// Variables of make that change how recipes are read, what runs them, or where what they need is found.
const SETTINGS: &[&str] = &[
    ".EXTRA_PREREQS",
    ".LIBPATTERNS",
    ".RECIPEPREFIX",
    ".SHELLFLAGS",
    "GNUMAKEFLAGS",
    "GPATH",
    "MAKE",
    "MAKEFILES",
    "MAKEFLAGS",
    "MFLAGS",
    "PATH",
    "SHELL",
    "VPATH",
];

/// Functions of make that read or start something while it reads the makefile.
const READ_LATE: &[&str] = &["$(eval", "${eval", "$(shell", "${shell", "$(guile", "${guile", "!="];

/// Targets of make that change nothing about which recipes run.
const HARMLESS_TARGETS: &[&str] = &[
    ".DELETE_ON_ERROR",
    ".IGNORE",
    ".INTERMEDIATE",
    ".NOTPARALLEL",
    ".PHONY",
    ".PRECIOUS",
    ".SECONDARY",
    ".SILENT",
    ".SUFFIXES",
];

/// Returns a text with each reference such as `$(X:.c=.o)` or `${X}` as one `$`.
fn without_references(text: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '$' if depth == 0 && matches!(chars.peek(), Some('(' | '{')) => {
                chars.next();
                plain.push('$');
                depth = 1;
            }
            '(' | '{' if depth != 0 => depth += 1,
            ')' | '}' if depth != 0 => depth -= 1,
            _ if depth != 0 => {}
            c => plain.push(c),
        }
    }
    plain
}

/// Lists the commands that a line of a makefile starts while it is read.
fn shell_functions(line: &str) -> impl Iterator<Item = String> {
    let behind = line.match_indices("shell ").map(|(at, word)| &line[at + word.len()..]);
    behind.map(|text| text.trim_end_matches([')', '}']).to_owned())
}

/// Returns the texts in quotes, as in `set shell := ["bash", "-c"]`.
fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '"', '`']) {
        let quote = &rest[at..=at];
        let Some((inner, behind)) = rest[at + 1..].split_once(quote) else { break };
        found.push(inner);
        rest = behind;
    }
    found
}

/// Returns whether a word is a name in a justfile.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// Returns name and value of an assignment in a justfile.
fn just_assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(":=")?;
    let name = name.trim();
    let name = name.strip_prefix("export ").map_or(name, str::trim_start);
    is_name(name).then(|| (name, value.trim()))
}

/// Returns the text that a value in a justfile is, if it says nothing else: `'a b'`.
pub(super) fn plain_text(value: &str) -> Option<&str> {
    let inner = ["'", "\""].iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    inner.filter(|inner| !inner.contains(['\'', '"', '\\', '`']))
}

/// Splits the first line of a recipe of just into its name with parameters, and what it needs, if it is plain.
fn just_header(line: &str) -> Option<(Vec<&str>, &str)> {
    let mut quote = None;
    let colon = line.char_indices().find(|(_, c)| match (quote, c) {
        (None, '\'' | '"') => {
            quote = Some(*c);
            false
        }
        (Some(open), c) if open == *c => {
            quote = None;
            false
        }
        (None, ':') => true,
        _ => false,
    });
    let (head, needs) = line.split_at(colon?.0);
    // A default of a parameter may hold blanks.
    let words: Vec<&str> = head.split_whitespace().collect();
    let name = words.first()?.trim_start_matches('@');
    let is_parameter =
        |word: &&str| is_name(word.trim_start_matches(['*', '+', '$']).split('=').next().unwrap_or(word));
    let is_plain = is_name(name)
        && !head.contains(['(', '`', '\\', '[', '{'])
        && (head.contains(['\'', '"']) || words[1..].iter().all(is_parameter));
    is_plain.then_some((words, &needs[1..]))
}

impl Recipes {
    pub(super) fn new() -> Recipes {
        Recipes {
            by_name: BTreeMap::new(),
            first: None,
            is_plain: true,
            is_loose: false,
            lines: Vec::new(),
            beside: Vec::new(),
            rules: Vec::new(),
            loads: BTreeSet::new(),
            starts: Vec::new(),
            variables: BTreeMap::new(),
            values: BTreeMap::new(),
            places: Vec::new(),
            exported: (BTreeSet::new(), false),
        }
    }

    /// Reads one more file. What is read first comes first.
    pub(super) fn read(&mut self, file: &str, text: &str, language: Language) {
        let mut names: Vec<String> = Vec::new();
        // Texts over several lines may hold anything.
        let is_cut = language == Language::Just && (text.contains("\"\"\"") || text.contains("'''"));
        self.is_plain &= !is_cut;
        // Which lines are those of a recipe is then known only when make reads them.
        let mut is_loose = language == Language::Make && text.contains(".RECIPEPREFIX");
        for Joined { text: line, broken } in Joined::lines(text, language) {
            let plain = line.trim_matches(BLANKS);
            let is_indented = match language {
                Language::Make => line.starts_with('\t'),
                Language::Just => line.starts_with([' ', '\t']),
            };
            // A shell reads on behind a comment that make takes for the whole line.
            let reads_on = broken.is_some() && (is_indented || is_loose);
            let is_comment = plain.starts_with('#') && !plain.starts_with("#!");
            if plain.is_empty() || (is_comment && !reads_on) {
                continue;
            }
            is_loose |= language == Language::Make && plain.starts_with("define");
            let for_shell = broken.as_deref().unwrap_or(plain);
            if is_loose && !is_indented {
                self.add_line(file, &[], for_shell);
                self.add_line(file, &[], plain.get(1..).unwrap_or_default());
            }
            if is_indented {
                self.add_line(file, &names, for_shell);
                // Before the first rule of make, a tab means nothing.
                if !names.is_empty() {
                    continue;
                }
                self.is_plain = false;
            }
            match language {
                Language::Make => self.make_line(file, plain, &mut names),
                Language::Just => self.just_line(plain, &mut names),
            }
            // The recipe in the line of its rule goes on, too: `go: ; # x` with a break behind it.
            if let Some((_, inline)) = broken.as_deref().and_then(|text| text.split_once(';')) {
                self.add_line(file, &names, inline);
                self.is_plain = false;
            }
        }
        self.is_loose |= is_cut || is_loose;
        self.settle_exports();
        // Another one may be the first.
        if is_cut || (language == Language::Just && text.contains("[default")) {
            self.first = None;
        }
    }

    fn add_line(&mut self, file: &str, names: &[String], text: &str) {
        let command = command_of(text);
        let by = names.last().map_or_else(|| file.to_owned(), |name| format!("{file}: {name}"));
        self.lines.push(Line { by, command: command.clone() });
        for name in names {
            let line = Line { by: format!("{file}: {name}"), command: command.clone() };
            self.by_name.entry(name.clone()).or_default().lines.push(line);
        }
    }

    fn add_recipe(&mut self, names: &[String], needs: &[String]) {
        for name in names {
            self.by_name.entry(name.clone()).or_default().needs.extend(needs.iter().cloned());
        }
        if self.first.is_none() {
            self.first = names.iter().find(|name| !name.starts_with('.')).cloned();
        }
    }

    /// Reads a line of a makefile outside of recipes.
    fn make_line(&mut self, file: &str, plain: &str, names: &mut Vec<String>) {
        // Which branch counts is known only when make reads it. A recipe goes on behind one.
        let first = plain.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
        if matches!(first, "ifeq" | "ifneq" | "ifdef" | "ifndef" | "else" | "endif") {
            self.beside.push(plain.to_owned());
            self.starts.extend(shell_functions(plain));
            self.is_plain = false;
            return;
        }
        self.starts.extend(shell_functions(plain));
        self.is_plain &= !READ_LATE.iter().any(|text| plain.contains(text));
        let shape = without_references(plain);
        // Also of one target: `go: CC = gcc` is no rule, and what it names is not what make begins with.
        let is_setting = shape.split([';', '#']).next().is_some_and(|head| head.contains('='));
        if is_setting {
            names.clear();
            self.make_variable(plain);
            return;
        }
        let Some((targets, rest)) = plain.split_once(':').filter(|_| shape.contains(':')) else {
            names.clear();
            self.beside.push(plain.to_owned());
            let mut words = plain.split_whitespace();
            match words.next().unwrap_or_default() {
                "unexport" if !plain.contains('$') => {}
                "export" if !plain.contains('$') => self.export(words),
                first @ ("include" | "-include" | "sinclude" | "load" | "-load") => {
                    let rest = plain[first.len()..].trim_start();
                    // A function such as `$(wildcard …)` has names among its words.
                    let ends = |c: char| c.is_whitespace() || (rest.contains('$') && "(){}".contains(c));
                    let names = rest.split(ends).map(|word| word.split('(').next().unwrap_or(word));
                    self.loads.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
                    self.loads.extend(Some(rest.to_owned()).filter(|rest| rest.contains('$')));
                    self.is_plain = false;
                }
                "vpath" => {
                    self.is_plain = false;
                    let folders = words.skip(1).collect::<Vec<_>>().join(" ").replace(':', " ");
                    self.places.push(("VPATH".to_owned(), folders));
                }
                _ => self.is_plain = false,
            }
            return;
        };
        let (rest, inline) = rest.split_once(';').map_or((rest, None), |(rest, line)| (rest, Some(line)));
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let needs = rest.split('#').next().unwrap_or(rest);
        let is_known = |name: &str| match name.strip_prefix('.') {
            Some(_) if HARMLESS_TARGETS.contains(&name) => true,
            // Of a kind of files, such as `.c.o`, or one that changes how recipes run.
            Some(rest) => !rest.starts_with(|c: char| c.is_ascii_alphabetic()) || name.contains('/'),
            None => true,
        };
        let is_odd = |text: &str| text.contains(['$', '%', '*', '?', '[', '~', '\\', '&', '(', ':', '=']);
        self.is_plain &= !is_odd(targets) && !is_odd(needs) && !rest.contains('\\');
        self.rules.push(format!("{targets}: {needs}"));
        *names = targets.split_whitespace().map(|name| plain_name(name).to_owned()).collect();
        self.is_plain &= names.iter().all(|name| is_known(name));
        self.exported.1 |= names.iter().any(|name| name == ".EXPORT_ALL_VARIABLES");
        let needs = needs.split_whitespace().filter(|need| *need != "|");
        let needs: Vec<String> = needs.map(|need| plain_name(need).to_owned()).collect();
        self.add_recipe(names, &needs);
        if let Some(line) = inline.filter(|line| !line.trim().is_empty()) {
            self.add_line(file, names, line);
        }
    }

    /// Notes the variables that `export` passes on to recipes. Without names, it does so with all.
    fn export<'w>(&mut self, names: impl Iterator<Item = &'w str>) {
        let names = names.take_while(|name| !name.starts_with('#')).map(str::to_owned);
        let names: Vec<String> = names.collect();
        self.exported.1 |= names.is_empty();
        self.exported.0.extend(names);
    }

    /// Reads the variables that are passed on like those that recipes set.
    fn settle_exports(&mut self) {
        let (exported, is_all) = &self.exported;
        let changes_code = |name: &str, value: &str| {
            (*is_all || exported.contains(name)) && names_code(name, value) && name != "SHELL"
        };
        let places = self.variables.iter().filter(|(name, value)| changes_code(name, value));
        let places: Vec<(String, String)> =
            places.map(|(name, value)| (name.clone(), value.clone())).collect();
        self.is_plain &= places.is_empty();
        self.places.extend(places);
    }

    /// Adds a text that a variable may have: alone, or behind those that it has.
    pub(super) fn add_value(&mut self, name: &str, value: &str, is_added: bool) {
        let value = value.trim();
        let values = self.values.entry(name.to_owned()).or_default();
        if is_added && !values.is_empty() {
            *values = values.iter().map(|known| format!("{known} {value}")).collect();
        } else if values.len() < MOST_VALUES {
            values.insert(value.to_owned());
        }
    }

    fn make_variable(&mut self, plain: &str) {
        self.beside.push(plain.to_owned());
        let Some((name, value)) = set_variable(plain) else { return };
        let is_added = plain.split('=').next().is_some_and(|head| head.ends_with('+'));
        self.add_value(name, value, is_added);
        self.variables.insert(name.to_owned(), value.to_owned());
        if name == ".DEFAULT_GOAL" {
            let goal = plain_name(value.split('#').next().unwrap_or(value).trim());
            self.first = Some(goal.to_owned());
            self.is_plain &= !value.contains('$');
        }
        if plain.contains("!=") || name == "SHELL" {
            self.starts.push(value.to_owned());
        }
        let is_passed_on = is_dangerous_variable(name) || plain.contains("export");
        let changes_code = is_passed_on && names_code(name, value) && name != "SHELL";
        if changes_code || name == "VPATH" {
            self.places.push((name.to_owned(), value.to_owned()));
        }
        if name == "MAKEFILES" {
            self.loads.extend(value.split_whitespace().map(str::to_owned));
        }
        self.is_plain &= !(changes_code || SETTINGS.contains(&name) || name.contains('$'));
    }

    /// Reads a line of a justfile outside of recipes.
    fn just_line(&mut self, plain: &str, names: &mut Vec<String>) {
        if let Some((name, value)) = just_assignment(plain) {
            names.clear();
            self.beside.push(plain.to_owned());
            self.variables.insert(name.to_owned(), value.to_owned());
            plain_text(value).into_iter().for_each(|text| self.add_value(name, text, false));
            let changes_code = names_code(name, value) || name == "PATH";
            if changes_code {
                self.places.push((name.to_owned(), value.to_owned()));
            }
            // A text between backquotes is a command.
            if value.contains('`') {
                self.starts.extend(quoted(value).into_iter().map(str::to_owned));
            }
            self.is_plain &= plain_text(value).is_some() && !changes_code && !plain.starts_with("export ");
            return;
        }
        if let Some((words, needs)) = just_header(plain)
            && !matches!(words[..], ["set" | "alias" | "mod" | "import" | "export", _, ..])
        {
            let needs = needs.split(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
            let needs: Vec<String> = needs.filter(|need| !need.is_empty()).map(str::to_owned).collect();
            *names = vec![words[0].trim_start_matches('@').to_owned()];
            // What a parameter is when nothing is given for it.
            for (name, value) in words[1..].iter().filter_map(|word| word.split_once('=')) {
                let name = name.trim_start_matches(['*', '+', '$']);
                plain_text(value).into_iter().for_each(|text| self.add_value(name, text, false));
            }
            self.add_recipe(names, &needs);
            return;
        }
        self.is_plain = false;
        self.beside.push(plain.to_owned());
        names.clear();
        if plain.starts_with('[') {
            if plain.contains("script") {
                self.starts.push(quoted(plain).join(" "));
            }
            return;
        }
        let mut words = plain.split_whitespace();
        let first = words.next().unwrap_or_default();
        match first.trim_end_matches('?') {
            "set" => {
                let name = words.next().unwrap_or_default();
                if name.contains("shell") || name.contains("script") {
                    self.starts.push(quoted(plain).join(" "));
                }
                if name.contains("dotenv") {
                    self.loads.insert(".env".to_owned());
                }
            }
            "import" => self.loads.extend(quoted(plain).into_iter().map(str::to_owned)),
            "mod" => {
                let name = words.find(|word| *word != "?").unwrap_or_default();
                let name = quoted(plain).first().copied().unwrap_or(name);
                let inside = ["mod.just", "justfile", ".justfile"].map(|file| format!("{name}/{file}"));
                self.loads.extend([name.to_owned(), format!("{name}.just")].into_iter().chain(inside));
            }
            // Something before a recipe whose lines follow.
            first => {
                let name = first.trim_start_matches('@').split(':').next().unwrap_or_default();
                if plain.contains(':') && is_name(name) {
                    *names = vec![name.to_owned()];
                    self.add_recipe(names, &[]);
                }
            }
        }
        // What a line in no known shape starts is followed, too.
        if plain.contains('`') {
            self.starts.extend(quoted(plain).into_iter().map(str::to_owned));
        }
    }
}
