use super::*;
use crate::testing::Bench;

#[test]
fn a_path_of_the_table_of_harnesses_needs_its_base_directory() {
    let of = |variables: &[(&str, &str)], path: &str| {
        let bench = Bench::new(&[]).with_variables(variables);
        user_path(&bench.context.environment, Path::new(path)).map(|path| path.display().to_string())
    };
    let home = [("HOME", "/home/ann")];
    for (variables, path, expect) in [
        (&home[..], "~/.claude", Some("/home/ann/.claude")),
        (&[], "~/.claude", None),
        (&[("HOME", "ann")], "~/.claude", None),
        (&[("APPDATA", "/data")], "%APPDATA%/Claude", Some("/data/Claude")),
        (&[("APPDATA", "data")], "%APPDATA%/Claude", None),
        (&home, "%LOCALAPPDATA%/x", None),
        (&[], "/etc/x", Some("/etc/x")),
        (&home, "x", None),
    ] {
        assert_eq!(of(variables, path).as_deref(), expect, "{path}");
    }
}

#[test]
fn only_certificates_with_an_absolute_path_are_read() {
    let bench = Bench::new(&[]).with_variables(&[("SSL_CERT_FILE", "/etc/a.pem"), ("SSL_CERT_DIR", "certs")]);
    assert_eq!(bench.host().certificates(), ["/etc/a.pem"]);
}

#[test]
fn a_program_is_found_on_path_if_it_may_be_executed() {
    let bench = Bench::new(&[("bin/text", "")]).with_variables(&[("PATH", "/memory/bin")]);
    bench.program("bin/there", "#!/bin/sh\n");
    let found = ["there", "text", "gone"].map(|name| bench.host().has_program(name));
    assert_eq!(found, [true, false, false]);
    assert!(!bench.with_variables(&[]).host().has_program("there"));
}

#[test]
fn values_are_bound_only_by_a_valid_policy_and_a_variable_that_is_set() {
    let bind = "env_bindings = { TOKEN = 'SECRET', OTHER = 'GONE' }\n";
    for (text, count) in [(bind.to_owned(), 1), (format!("max_timeout = 'x'\n{bind}"), 0), (String::new(), 0)]
    {
        let bench = Bench::new(&[]).with_variables(&[("SECRET", "hunter2-hunter2")]);
        let policy = PolicyState::parse("p", Some(text.as_bytes()));
        let values = bound_values(&bench.context.environment, &policy);
        assert_eq!(values.len(), count, "{text}");
        let shown = masks(&bench.context.environment, &policy).shown("say hunter2-hunter2");
        assert_eq!(shown.contains("hunter2"), count == 0, "{shown}");
    }
}
