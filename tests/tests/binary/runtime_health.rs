//! Health commands of runtimes: an approval binds the code that they run, and the policy's sandbox applies to them.

#![allow(clippy::disallowed_methods, reason = "a test listens on a port, and looks at a home directory")]

use std::net::TcpListener;

use brigade_tests::Site;
use serde_json::Value;

const ENFORCE: &str = "[sandbox]\nmode = \"enforce\"\nreads = \"closed\"\n";

/// A workspace whose tool needs the running runtime `helper` with this health command.
struct HealthSite {
    site: Site,
}

impl Drop for HealthSite {
    fn drop(&mut self) {
        let _ = self.site.brigade.command(["tools", "runtime", "stop", "helper"]).output();
    }
}

impl HealthSite {
    fn new(command: &str, script: &str, policy: &str) -> HealthSite {
        let site = Site::script_with("echo done\n", "runtime_id = \"helper\"\nrequires_runtime = true");
        site.add_to_policy(policy);
        site.workspace.write("ops/check.sh", script);
        site.workspace.write("state", "ok\n");
        site.workspace.write(
            ".brigade/tools/runtimes.toml",
            format!(
                "[[runtime]]\nid = 'helper'\nname = 'Helper'\ncommand = 'sleep 600'\nhealth_command = '{command}'\n"
            ),
        );
        site.tools(["runtime", "start", "helper"]).assert_code(0);
        HealthSite { site }
    }

    /// Returns the runtime after its health command ran.
    fn status(&self) -> Value {
        self.site.json(["runtime", "status"]).json["runtimes"][0].clone()
    }
}

#[test]
fn a_call_binds_what_the_health_command_executes() {
    let checked = HealthSite::new("sh ops/check.sh", "exit 0\n", ENFORCE);
    let bound = "health command of helper: ops/check.sh";
    let id = checked.site.approved("tool", "{}");
    let shown = checked.site.tools(["call", "show", &id]).stdout_text();
    assert!(shown.contains(bound), "{shown}");
    checked.site.run_call(&id).expect(0);
    let id = checked.site.approved("tool", "{}");
    let mark = checked.site.workspace.path().join("mark");
    checked.site.workspace.write("ops/check.sh", "echo x > mark\nexit 0\n");
    let refused = checked.site.run_call(&id).refused("changed");
    assert!(refused.to_string().contains(bound), "{refused:#}");
    assert!(!mark.exists(), "unapproved code was executed");
}

#[test]
fn a_health_command_is_confined_as_the_policy_says() {
    for (policy, is_confined) in [(ENFORCE, true), ("", false)] {
        let checked = HealthSite::new("sh ops/check.sh", "exit 0\n", policy);
        let key = checked.site.beside("key");
        std::fs::write(&key, "secret").expect("the test can write beside its workspace");
        let key = key.display();
        let writes =
            format!("{{ echo x > mark; }} 2> /dev/null\ncat {key} > \"$TMPDIR/copy\" && exit 1\nexit 0\n");
        checked.site.workspace.write("ops/check.sh", writes);
        checked.site.trust(["runtime:helper"]);
        let status = checked.status();
        assert_eq!(status["health_ok"], is_confined, "{status:#}");
        assert_eq!(checked.site.workspace.exists("mark"), !is_confined, "{policy}");
        checked.site.json(["doctor"]);
        assert_eq!(checked.site.workspace.exists("mark"), !is_confined, "{policy}");
    }
}

#[test]
fn a_health_command_uses_files_and_local_ports() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it has an address").port();
    let checked = HealthSite::new("python3 -S -E ops/check.py", "", ENFORCE);
    checked.site.workspace.write(
        "ops/check.py",
        format!(
            "import os, socket, tempfile\nassert open('state').read() == 'ok\\n'\ntempfile.NamedTemporaryFile()\n\
             socket.create_connection(('127.0.0.1', {port}), 5).close()\n"
        ),
    );
    checked.site.trust(["runtime:helper"]);
    let status = checked.status();
    assert_eq!(status["health_ok"], true, "{status:#}");
}
