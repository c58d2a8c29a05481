//! The functions with which rows of the table are written.

use super::{ContainerOptions, Finds, Hook, Password, Role, Row, Script, Spelling, Starts, Value, Writes};

const PLAIN: Spelling = Spelling {
    valued: "",
    attached: "",
    flags: "",
    long_valued: &[],
    long_flags: &[],
    code: "",
    long_code: &[],
    ends: "",
    directory: None,
};

pub(super) const fn row(names: &'static [&'static str], role: Role) -> Row {
    Row {
        names,
        role,
        spelling: PLAIN,
        script: Script::Unknown,
        finds: Finds::Nothing,
        files: &[],
        ends: &[],
        hooks: &[],
        writes: Writes::Nothing,
        passwords: &[],
        starts: None,
        stores_secrets: false,
        sets_variables: false,
        container: None,
        versioned: false,
    }
}

pub(super) const fn other(names: &'static [&'static str]) -> Row {
    row(names, Role::Other)
}

pub(super) const fn shell(names: &'static [&'static str]) -> Row {
    Row { versioned: true, ..row(names, Role::Shell) }
}

pub(super) const fn interpreter(names: &'static [&'static str]) -> Row {
    Row { versioned: true, ..row(names, Role::Interpreter) }
}

/// A program that runs the command after its options.
pub(super) const fn wrapper(names: &'static [&'static str]) -> Row {
    wrapper_after(0, names)
}

/// A program that runs the command after its options and operands.
pub(super) const fn wrapper_after(operands: usize, names: &'static [&'static str]) -> Row {
    row(names, Role::Wrapper { operands })
}

pub(super) const fn launcher(names: &'static [&'static str]) -> Row {
    row(names, Role::Launcher)
}

pub(super) const fn container(names: &'static [&'static str]) -> Row {
    row(names, Role::Container)
}

pub(super) const fn subcommands(names: &'static [&'static str], launching: &'static [&'static str]) -> Row {
    row(names, Role::Subcommands(launching))
}

pub(super) const fn hook(value: Value, short: &'static str, long: &'static [&'static str]) -> Hook {
    Hook { value, short, long }
}

impl Row {
    /// Short and long options that take the next word.
    pub(super) const fn valued(self, short: &'static str, long: &'static [&'static str]) -> Row {
        Row { spelling: Spelling { valued: short, long_valued: long, ..self.spelling }, ..self }
    }

    /// Long options without a value that others begin with.
    pub(super) const fn long_flags(self, flags: &'static [&'static str]) -> Row {
        Row { spelling: Spelling { long_flags: flags, ..self.spelling }, ..self }
    }

    /// Short options with an optional value in the rest of the bundle.
    pub(super) const fn attached(self, short: &'static str) -> Row {
        Row { spelling: Spelling { attached: short, ..self.spelling }, ..self }
    }

    /// Short and long options with code as value.
    pub(super) const fn code(self, short: &'static str, long: &'static [&'static str]) -> Row {
        Row { spelling: Spelling { code: short, long_code: long, ..self.spelling }, ..self }
    }

    /// Short options that name the program in another way.
    pub(super) const fn ends(self, short: &'static str) -> Row {
        Row { spelling: Spelling { ends: short, ..self.spelling }, ..self }
    }

    /// The option for the working directory.
    pub(super) const fn changes_directory(self, short: char, long: &'static str) -> Row {
        Row { spelling: Spelling { directory: Some((short, long)), ..self.spelling }, ..self }
    }

    /// The first operand is a script. `flags` are short options without a value.
    pub(super) const fn script(self, script: Script, flags: &'static str) -> Row {
        Row { script, spelling: Spelling { flags, ..self.spelling }, ..self }
    }

    pub(super) const fn finds(self, finds: Finds) -> Row {
        Row { finds, ..self }
    }

    pub(super) const fn files(self, files: &'static [&'static str]) -> Row {
        Row { files, ..self }
    }

    pub(super) const fn ends_of_code(self, ends: &'static [&'static str]) -> Row {
        Row { ends, ..self }
    }

    pub(super) const fn hooks(self, hooks: &'static [Hook]) -> Row {
        Row { hooks, ..self }
    }

    pub(super) const fn writes(self, writes: Writes) -> Row {
        Row { writes, ..self }
    }

    pub(super) const fn passwords(self, passwords: &'static [Password]) -> Row {
        Row { passwords, ..self }
    }

    /// Where the words of the started command are, if the role does not determine it.
    pub(super) const fn starts(self, starts: Starts) -> Row {
        Row { starts: Some(starts), ..self }
    }

    pub(super) const fn versioned(self) -> Row {
        Row { versioned: true, ..self }
    }

    /// `--secret` names a secret that is stored elsewhere.
    pub(super) const fn stores_secrets(self) -> Row {
        Row { stores_secrets: true, ..self }
    }

    /// Words with `=` before the command set variables.
    pub(super) const fn sets_variables(self) -> Row {
        Row { sets_variables: true, ..self }
    }

    /// Variables of the program are given to a container by name.
    pub(super) const fn container_options(self, options: ContainerOptions) -> Row {
        Row { container: Some(options), ..self }
    }
}
