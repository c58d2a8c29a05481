//! Finds secrets in an entry, and masks them.
//!
//! The catalog contains labels and commands, which are stored with every call and shown to everyone. A secret in them
//! would be exposed. So calls of such a tool are refused, and tools are stored and shown [without their
//! secrets](Tool::without_secrets).

use std::borrow::Cow;
use std::fmt;

use brigade_redact::{MARK, Redactor, is_secret_command, is_secret_field, looks_secret_value, shown_command};

use crate::model::{Cost, Effect, Install, Masks, Runtime, SourceDetail, Tool};

/// The field with the paths of projections.
const PROJECTIONS: &str = "projections";

/// A field that appears to contain a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretText {
    /// The field, in the form that [`Tool::place_of`] accepts.
    pub field: String,
    /// The purpose of the field.
    pub purpose: TextPurpose,
}

/// The name of a field, and the element in it, counted from 1.
#[derive(Clone, Copy)]
struct FieldName {
    field: &'static str,
    number: Option<usize>,
}

impl FieldName {
    fn new(field: &'static str) -> FieldName {
        FieldName { field, number: None }
    }
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}[{number}]", self.field),
            None => f.write_str(self.field),
        }
    }
}

/// Names each element of a list as a field.
fn elements<'t>(
    (field, texts): (&'static str, &'t Vec<String>),
) -> impl Iterator<Item = (FieldName, &'t String)> {
    texts.iter().enumerate().map(move |(index, text)| (FieldName { field, number: Some(index + 1) }, text))
}

/// The purpose of a text in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPurpose {
    /// It defines how the tool is called, so a tool with a secret in it cannot be called.
    Contract,
    /// It describes the tool to users and agents.
    Prose,
}

impl Tool {
    /// Lists the fields that appear to contain a secret. The policy checks environment labels separately.
    pub fn secret_texts(&self) -> Vec<SecretText> {
        self.find_secrets().collect()
    }

    /// Iterates over the [fields with a secret](Tool::secret_texts).
    fn find_secrets(&self) -> impl Iterator<Item = SecretText> {
        let commands = self.command_lines().filter(|(_, line)| is_secret_command(line));
        let commands = commands.map(|(field, _)| field.to_string());
        let texts = self.contract_texts().into_iter();
        let texts = texts.filter(|(_, text)| text.as_deref().is_some_and(is_secret_label));
        let texts = texts.map(|(field, _)| field.to_owned());
        let lists = [("permissions", &self.permissions), ("effects", &self.effects)];
        let lists = lists.into_iter().flat_map(elements).filter(|(_, text)| is_secret_label(text));
        let lists = lists.map(|(field, _)| field.to_string());
        let templates =
            self.argument_template.iter().filter(|(name, template)| is_secret_template(name, template));
        let templates = templates.map(|(name, _)| format!("argument_template.{name}"));
        let contract = commands.chain(texts).chain(lists).chain(templates);
        let labels = [
            ("capability", &self.capability),
            ("aliases", &self.aliases),
            ("categories", &self.categories),
            ("capabilities", &self.capabilities),
            ("icons", &self.icons),
        ];
        let prose = [("name", Some(&self.name)), ("description", self.description.as_ref())].into_iter();
        let prose = prose.chain([("domain", self.domain.as_ref())]).chain(self.detail_texts());
        let prose = prose.filter_map(|(field, text)| Some((FieldName::new(field), text?)));
        let prose = prose.chain(labels.into_iter().flat_map(elements));
        let prose = prose.filter(|(_, text)| is_secret_prose(text)).map(|(field, _)| field.to_string());
        let of = |purpose| move |field: String| SecretText { field, purpose };
        contract.map(of(TextPurpose::Contract)).chain(prose.map(of(TextPurpose::Prose)))
    }

    /// Lists the fields with names or patterns that look like a secret. They are shown unmasked, so such entries are
    /// not registered.
    pub fn secret_names(&self) -> Vec<String> {
        let lists = [
            ("supported_harnesses", &self.supported_harnesses),
            ("allow_option_values", &self.allow_option_values),
            ("code", &self.code),
            ("data", &self.data),
        ];
        let is_secret = |text: &String| looks_secret_value(text).is_some();
        let label = self.auth_label.iter().map(|label| (FieldName::new("auth_label"), label));
        let own = label.chain(lists.into_iter().flat_map(elements)).filter(|(_, text)| is_secret(text));
        let targets = self.projections.iter().filter(|(_, path)| is_secret(path));
        let targets = targets.map(|(harness, _)| format!("projections.{harness}"));
        own.map(|(field, _)| field.to_string()).chain(targets).collect()
    }

    /// Returns the tool for storing and showing, with `[redacted]` instead of secrets.
    pub fn without_secrets(&self) -> Cow<'_, Tool> {
        if self.find_secrets().next().is_none() {
            return Cow::Borrowed(self);
        }
        let mut shown = self.clone();
        let redact = |is_secret: fn(&str) -> bool| move |text: &mut String| mask(is_secret, text);
        shown.commands_mut().for_each(|command| *command = shown_command(command).into_owned());
        let labels = [
            &mut shown.source_path,
            &mut shown.manifest_path,
            &mut shown.schema_path,
            &mut shown.health_path,
            &mut shown.input_schema_path,
            &mut shown.output_schema_path,
            &mut shown.examples_path,
            &mut shown.cwd,
            &mut shown.runtime_id,
            &mut shown.runtime_health_path,
            &mut shown.mcp_server_id,
            &mut shown.mcp_tool_name,
        ];
        labels.into_iter().flatten().for_each(redact(is_secret_label));
        [&mut shown.permissions, &mut shown.effects].into_iter().flatten().for_each(redact(is_secret_label));
        let prose = [&mut shown.description, &mut shown.domain].into_iter().flatten();
        let labels = [
            &mut shown.capability,
            &mut shown.aliases,
            &mut shown.categories,
            &mut shown.capabilities,
            &mut shown.icons,
        ];
        let prose = prose.chain([&mut shown.name]).chain(labels.into_iter().flatten());
        prose
            .chain(details_mut(&mut shown.source, &mut shown.install, &mut shown.cost))
            .for_each(redact(is_secret_prose));
        for (name, template) in &mut shown.argument_template {
            if is_secret_template(name, template) {
                let masked = Redactor::new(&[]).for_settings().redact_str(template);
                *template = if is_secret_template(name, &masked) { MARK.to_owned() } else { masked };
            }
        }
        Cow::Owned(shown)
    }

    /// Returns the tool for reports: [without its secrets](Tool::without_secrets), and with its [masks](Tool::masks)
    /// applied to all texts. Ids of the tool, its runtime and its server stay, and so do names of harnesses and
    /// arguments, because they are used for decisions.
    pub fn shown(&self) -> Cow<'_, Tool> {
        self.masked_by(&self.masks)
    }

    /// Like [`shown`](Tool::shown), with these masks.
    pub fn masked_by(&self, masks: &Masks) -> Cow<'_, Tool> {
        let shown = self.without_secrets();
        if masks.is_empty() {
            return shown;
        }
        let mut shown = shown.into_owned();
        // Paths of projections stay, because plans name these files.
        let texts = shown.texts_mut().filter(|(field, _)| *field != PROJECTIONS);
        texts.for_each(|(_, text)| masks.hide(text));
        details_mut(&mut shown.source, &mut shown.install, &mut shown.cost).for_each(|text| masks.hide(text));
        shown.commands_mut().for_each(|text| masks.hide(text));
        Cow::Owned(shown)
    }

    /// Returns the description for reports, like [`Tool::shown`].
    pub fn shown_description(&self) -> Option<String> {
        let mut text = self.description.clone()?;
        mask(is_secret_prose, &mut text);
        self.masks.hide(&mut text);
        Some(text)
    }

    /// Returns the texts of the entry for masking, with their fields. Commands and the tables about source,
    /// installation and cost are not included.
    fn texts_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut String)> {
        let texts = [
            ("description", &mut self.description),
            ("domain", &mut self.domain),
            ("source_path", &mut self.source_path),
            ("manifest_path", &mut self.manifest_path),
            ("schema_path", &mut self.schema_path),
            ("auth_label", &mut self.auth_label),
            ("health_path", &mut self.health_path),
            ("input_schema_path", &mut self.input_schema_path),
            ("output_schema_path", &mut self.output_schema_path),
            ("examples_path", &mut self.examples_path),
            ("cwd", &mut self.cwd),
            ("runtime_health_path", &mut self.runtime_health_path),
        ];
        let lists = [
            ("permissions", &mut self.permissions),
            ("effects", &mut self.effects),
            ("env_labels", &mut self.env_labels),
            ("capability", &mut self.capability),
            ("code", &mut self.code),
            ("data", &mut self.data),
            ("aliases", &mut self.aliases),
            ("categories", &mut self.categories),
            ("capabilities", &mut self.capabilities),
            ("icons", &mut self.icons),
        ];
        let maps = [("argument_template", &mut self.argument_template), (PROJECTIONS, &mut self.projections)];
        let texts = texts.into_iter().filter_map(|(field, text)| Some((field, text.as_mut()?)));
        let lists =
            lists.into_iter().flat_map(|(field, list)| list.iter_mut().map(move |text| (field, text)));
        // Decisions use these words, so they stay.
        let lists = lists.filter(|(field, text)| *field != "effects" || !Effect::is_known(text));
        let maps = maps.into_iter().flat_map(|(field, map)| map.values_mut().map(move |text| (field, text)));
        texts.chain(lists).chain(maps).chain([("name", &mut self.name)])
    }

    /// Returns every command line of the entry for masking.
    fn commands_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let install = self.install.as_deref_mut();
        let (check, alternatives) =
            install.map_or((None, None), |install| (install.check.as_mut(), Some(&mut install.command)));
        let commands = [self.command.as_mut(), self.version_command.as_mut(), check].into_iter().flatten();
        commands.chain(alternatives.into_iter().flatten())
    }

    /// Returns every command line of the entry, with its field.
    pub fn commands(&self) -> Vec<(String, &str)> {
        self.command_lines().map(|(field, line)| (field.to_string(), line)).collect()
    }

    fn command_lines(&self) -> impl Iterator<Item = (FieldName, &str)> {
        let install = self.install.as_deref();
        let check = install.and_then(|install| install.check.as_deref());
        let fields = [
            ("command", self.command.as_deref()),
            ("version_command", self.version_command.as_deref()),
            ("install.check", check),
        ];
        let fields = fields.into_iter().filter_map(|(field, line)| Some((FieldName::new(field), line?)));
        let alternatives = install.map_or(&[][..], |install| &install.command);
        let is_one = alternatives.len() == 1;
        let name = move |index: usize| FieldName {
            field: "install.command",
            number: (!is_one).then_some(index + 1),
        };
        let alternatives = alternatives.iter().enumerate();
        fields.chain(alternatives.map(move |(index, line)| (name(index), line.as_str())))
    }

    /// Returns the texts of the tables about source, installation and cost that are not commands.
    fn detail_texts(&self) -> Vec<(&'static str, Option<&String>)> {
        let mut texts = Vec::new();
        if let Some(source) = &self.source {
            texts.extend([
                ("source.provider", source.provider.as_ref()),
                ("source.server", source.server.as_ref()),
                ("source.skill_id", source.skill_id.as_ref()),
                ("source.entry", source.entry.as_ref()),
                ("source.path", source.path.as_ref()),
                ("source.ref", source.reference.as_ref()),
                ("source.fingerprint", source.fingerprint.as_ref()),
            ]);
        }
        texts.extend(self.install.iter().map(|install| ("install.docs", install.docs.as_ref())));
        texts.extend(self.cost.iter().map(|cost| ("cost.unit", cost.unit.as_ref())));
        texts
    }

    /// Returns the texts of the contract and the other paths, without lists, tables and commands.
    fn contract_texts(&self) -> [(&'static str, &Option<String>); 12] {
        [
            ("source_path", &self.source_path),
            ("manifest_path", &self.manifest_path),
            ("schema_path", &self.schema_path),
            ("health_path", &self.health_path),
            ("input_schema_path", &self.input_schema_path),
            ("output_schema_path", &self.output_schema_path),
            ("examples_path", &self.examples_path),
            ("cwd", &self.cwd),
            ("runtime_id", &self.runtime_id),
            ("runtime_health_path", &self.runtime_health_path),
            ("mcp_server_id", &self.mcp_server_id),
            ("mcp_tool_name", &self.mcp_tool_name),
        ]
    }
}

impl Tool {
    /// Lists the fields that hold a bound value.
    pub fn bound_texts(&self, masks: &Masks) -> Vec<String> {
        if masks.is_empty() {
            return Vec::new();
        }
        let commands = self.command_lines().filter(|(_, line)| !masks.shows(line));
        let mut found: Vec<String> = commands.map(|(field, _)| field.to_string()).collect();
        let mut tool = self.clone();
        let texts = tool.texts_mut().filter(|(_, text)| !masks.shows(text));
        found.extend(texts.map(|(field, _)| field.to_owned()));
        let details = self.detail_texts().into_iter();
        let details = details.filter(|(_, text)| text.is_some_and(|text| !masks.shows(text)));
        found.extend(details.map(|(field, _)| field.to_owned()));
        let version = self.version.as_ref().filter(|version| !masks.shows(version.as_str()));
        found.extend(version.map(|_| "version".to_owned()));
        found
    }
}

impl Runtime {
    /// Lists the fields that hold a bound value.
    pub fn bound_texts(&self, masks: &Masks) -> Vec<&'static str> {
        let fields = [
            ("command", Some(&self.command)),
            ("cwd", self.cwd.as_ref()),
            ("health_command", self.health_command.as_ref()),
            ("health_path", self.health_path.as_ref()),
        ];
        let paths = self.write_paths.iter().map(|path| ("write_paths", Some(path)));
        let env = self.env.values().map(|value| ("env", Some(value)));
        let found = fields
            .into_iter()
            .chain(paths)
            .chain(env)
            .filter(|(_, text)| text.is_some_and(|text| !masks.shows(text)));
        found.map(|(field, _)| field).collect()
    }

    /// Lists the commands that appear to contain a secret.
    pub fn secret_commands(&self) -> Vec<&'static str> {
        let commands =
            [("command", Some(self.command.as_str())), ("health_command", self.health_command.as_deref())];
        let found = commands.into_iter().filter(|(_, command)| command.is_some_and(is_secret_command));
        found.map(|(field, _)| field).collect()
    }
}

/// Returns the texts of [`Tool::detail_texts`] for masking.
fn details_mut<'t>(
    source: &'t mut Option<Box<SourceDetail>>,
    install: &'t mut Option<Box<Install>>,
    cost: &'t mut Option<Box<Cost>>,
) -> impl Iterator<Item = &'t mut String> {
    let source = source.iter_mut().flat_map(|source| {
        let SourceDetail {
            kind: _,
            transport: _,
            provider,
            server,
            skill_id,
            entry,
            path,
            reference,
            fingerprint,
        } = source.as_mut();
        [provider, server, skill_id, entry, path, reference, fingerprint].into_iter().flatten()
    });
    let docs = install.iter_mut().filter_map(|install| install.docs.as_mut());
    source.chain(docs).chain(cost.iter_mut().filter_map(|cost| cost.unit.as_mut()))
}

/// Masks the secrets in a text.
fn mask(is_secret: fn(&str) -> bool, text: &mut String) {
    if is_secret(text) {
        let masked = Redactor::new(&[]).for_settings().redact_str(text);
        // A secret in fullwidth letters cannot be masked in part, so the whole text is.
        *text = if is_secret(&masked) { MARK.to_owned() } else { masked };
    }
}

/// Returns whether a label contains a secret. Labels such as `secrets:read` only name a permission.
fn is_secret_label(text: &str) -> bool {
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_.*/".contains(&byte))
    };
    !text.split(':').all(is_word) && looks_secret_value(text).is_some()
}

/// Returns whether a sentence contains a secret. A plain word after a colon does not count: `Manages secrets: rotate,
/// list`.
fn is_secret_prose(text: &str) -> bool {
    if looks_secret_value(text).is_none() {
        return false;
    }
    let mut judged = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(": ") {
        let word = after
            .split([' ', '\n'])
            .next()
            .unwrap_or_default()
            .trim_end_matches([',', '.', ';', '!', '?', ')']);
        let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || b"-'".contains(&byte));
        judged.push_str(before);
        judged.push_str(if is_plain { " " } else { ": " });
        rest = after;
    }
    looks_secret_value(&(judged + rest)).is_some()
}

/// Returns whether a template contains a secret independently of its arguments.
fn is_secret_template(name: &str, template: &str) -> bool {
    let text = without_placeholders(template);
    let is_literal = text == template && !template.starts_with('-') && template != MARK;
    looks_secret_value(&text).is_some() || (is_literal && is_secret_field(name, template))
}

/// Replaces each `{name}` with a mark, so that it does not look like a secret.
fn without_placeholders(template: &str) -> Cow<'_, str> {
    if !template.contains('{') {
        return Cow::Borrowed(template);
    }
    let mut text = String::with_capacity(template.len() + MARK.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let inside = after.split_once('}').filter(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        text.push_str(before);
        match inside {
            Some((_, after)) => {
                text.push_str(MARK);
                rest = after;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    Cow::Owned(text + rest)
}

#[cfg(test)]
mod tests {
    use brigade_core::{Json, Place};

    use super::*;
    use crate::{Catalog, Family, Level};

    const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

    fn tool(fields: &str) -> Tool {
        let text = format!("[[tool]]\nid = \"t\"\nname = \"T\"\nfamily = \"script\"\n{fields}\n");
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        assert!(catalog.is_valid(), "{:?}", catalog.issues());
        catalog.tools()[0].clone()
    }

    #[track_caller]
    fn check(fields: &str, expect: &[&str]) {
        let tool = tool(fields);
        let found: Vec<String> = tool.secret_texts().into_iter().map(|text| text.field).collect();
        assert_eq!(found, expect, "{fields}");
        let shown = tool.without_secrets();
        assert!(shown.secret_texts().is_empty(), "{shown:?}");
        assert_eq!(tool.shown_description(), shown.description);
        assert!(!format!("{shown:?}").contains("hunter2"), "{shown:?}");
        assert_eq!(matches!(shown, Cow::Borrowed(_)), expect.is_empty());
    }

    #[test]
    fn secrets_are_found_in_every_text() {
        check("command = \"sh bin/t.sh --password=hunter2\"", &["command"]);
        check("description = \"log in with password=hunter2EXAMPLE\"", &["description"]);
        check("permissions = [\"read\", \"token=hunter2abc\"]", &["permissions[2]"]);
        check("mcp_server_id = \"https://u:hunter2@host\"", &["mcp_server_id"]);
        check("cwd = \"password=hunter2\"", &["cwd"]);
        check(&format!("input_schema_path = \"schemas/{TOKEN}.json\""), &["input_schema_path"]);
        check(
            "command = \"x --pat hunter2\"\nversion_command = \"x -u bob:hunter2\"",
            &["command", "version_command"],
        );
        check("capability = [\"password=hunter2\"]", &["capability[1]"]);
        check(
            "[tool.argument_template]\na = \"--password=hunter2\"\npassword = \"hunter2\"",
            &["argument_template.a", "argument_template.password"],
        );
        check(&format!("command = \"curl --header {TOKEN}\""), &["command"]);
        check("version_command = \"x --password=hunter2\"", &["version_command"]);
        check(
            "[tool.install]\ncheck = \"x --password=hunter2\"\ncommand = [\"pip install x\", \"x --token hunter2\"]\ndocs = \"https://u:hunter2@host\"",
            &["install.check", "install.command[2]", "install.docs"],
        );
        check(
            "categories = [\"x\", \"password=hunter2\"]\n[tool.source]\nprovider = \"password=hunter2\"",
            &["source.provider", "categories[2]"],
        );
        let tool = tool("command = \"x --token hunter2\"");
        assert_eq!(tool.place_of(&tool.secret_texts()[0].field), Place::at("tools.toml", 5, 1));
    }

    #[test]
    fn names_of_secrets_and_placeholders_are_not_secret() {
        check("command = \"python3 bin/password_check.py --token-file x\"", &[]);
        check("description = \"Checks the password of a user, and says what the token: field means.\"", &[]);
        check("description = \"Manages secrets: rotate, list. A password: what a user types.\"", &[]);
        check("permissions = [\"secret-read\", \"token:read\"]\neffects = [\"secret-read\"]", &[]);
        check(
            "[tool.argument_template]\na = \"--token={a}\"\npassword = \"{p}\"\ntoken = \"--token\"\nh = \"Authorization: Bearer {a}\"\nu = \"https://{u}:{p}@host\"",
            &[],
        );
    }

    /// As in outputs: of one or two bytes as whole words, of three anywhere.
    /// Issue 17: two keys that hold the same value are two members.
    #[test]
    fn no_member_is_lost_when_keys_become_equal() {
        let masks = Masks::new(&["first-canary".into(), "other-canary".into()]);
        let mut json =
            Json::parse(r#"{"first-canary": 1, "other-canary": {"x": "first-canary"}, "z": 3}"#).unwrap();
        masks.hide_json(&mut json);
        let expect = r#"{"[redacted]": 1, "[redacted] 2": {"x": "[redacted]"}, "z": 3}"#;
        assert_eq!(json, Json::parse(expect).unwrap());
    }

    #[test]
    fn short_bound_values_are_masked_but_not_refused() {
        let text = "[[tool]]\nid = \"t\"\nname = \"T\"\nfamily = \"script\"\n\
                    command = \"x q9 aq9b xq7z q\"\ncwd = \"q7z\"\n";
        let masks = Masks::new(&["q".into(), "q9".into(), "q7z".into()]);
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes()).masked_by(&masks);
        let tool = &catalog.tools()[0];
        let shown = tool.shown();
        assert_eq!(shown.command.as_deref(), Some("x [redacted] aq9b x[redacted] [redacted]"));
        assert_eq!(shown.cwd.as_deref(), Some("[redacted]"));
        assert_eq!(tool.bound_texts(&masks), Vec::<String>::new());
    }

    #[test]
    fn bound_values_are_masked_only_when_shown() {
        let text = "[[tool]]\nid = \"t\"\nname = \"T hunter2ab\"\nfamily = \"script\"\n\
                    command = \"x hunter2ab\"\nversion_command = \"x -V hunter2ab\"\n\
                    description = \"as hunter2ab\"\ncwd = \"hunter2ab\"\n\
                    aliases = [\"t-hunter2ab\"]\npermissions = [\"read\", \"read:hunter2ab\"]\n\
                    projections = { claude = \"hunter2ab.md\" }\n\
                    [tool.argument_template]\na = \"{a}hunter2ab\"\n\
                    [tool.install]\ncheck = \"x hunter2ab\"\ncommand = [\"y hunter2ab\"]\n";
        let catalog = Catalog::parse("tools.toml", Level::Project, text.as_bytes());
        let masked = catalog.clone().masked_by(&Masks::new(&["hunter2ab".into()]));
        let (plain, tool) = (&catalog.tools()[0], &masked.tools()[0]);
        assert_eq!((plain, plain), (tool, &*tool.without_secrets()));
        assert!(matches!(plain.shown(), Cow::Borrowed(_)));
        let shown = tool.shown();
        assert_eq!(
            shown.commands().iter().map(|(_, line)| *line).collect::<Vec<_>>(),
            ["x [redacted]", "x -V [redacted]", "x [redacted]", "y [redacted]"]
        );
        assert_eq!(shown.projections["claude"], "hunter2ab.md");
        assert_eq!((&shown.aliases[0][..], &shown.permissions[1][..]), ("t-[redacted]", "read:[redacted]"));
        let fields = ["command", "version_command", "install.check", "install.command", "description", "cwd"];
        let bound = plain.bound_texts(&tool.masks);
        assert!(fields.iter().all(|field| bound.iter().any(|found| found == field)), "{bound:?}");
        assert_eq!(plain.bound_texts(&Masks::default()), Vec::<String>::new());
        assert_eq!((&*shown.name, shown.description.as_deref()), ("T [redacted]", Some("as [redacted]")));
        assert_eq!(
            (&*shown.argument_template["a"], shown.cwd.as_deref()),
            ("{a}[redacted]", Some("[redacted]"))
        );
        assert_eq!(tool.shown_description(), shown.description);
    }

    #[test]
    fn commands_of_runtimes_are_searched() {
        let mut runtime = Runtime::new("r", "serve --token hunter2").unwrap();
        assert_eq!(runtime.secret_commands(), ["command"]);
        runtime.command = "serve --token-file x".to_owned();
        runtime.health_command = Some("curl http://u:hunter2@localhost".to_owned());
        assert_eq!(runtime.secret_commands(), ["health_command"]);
        assert!(Tool::new("t", Family::Script).unwrap().secret_texts().is_empty());
    }
}
