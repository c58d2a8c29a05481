//! `tools register` writes the tools of files for a review.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;

use brigade_tests::Site;
use serde_json::Value;

const KEPT: &str =
    "# mine\n[[tool]]\nid = \"own\" # the first\nname = \"Own\"\nfamily = \"script\"\ncommand = \"sh\"\n";

fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", KEPT);
    site
}

fn register(site: &Site, text: &str, name: &str, words: &[&str], code: i32) -> Value {
    let file = site.beside(name);
    fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let words: Vec<&str> = ["register", &file].into_iter().chain(words.iter().copied()).collect();
    site.json(words).expect(code)
}

#[test]
fn a_server_of_the_mcp_registry_is_pinned() {
    let site = site();
    let text = r#"{"name": "io.github.x/weather", "description": "W", "version": "1.0.0", "packages": [{"registryType": "npm",
        "identifier": "@x/weather", "version": "1.2.3", "environmentVariables": [{"name": "API_KEY", "isSecret": true}]}]}"#;
    let document = register(&site, text, "server.json", &["--id", "wetter"], 0);
    assert_eq!(document["registered"][0]["runtime_id"], "wetter");
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    assert!(runtimes.contains("npx -y @x/weather@1.2.3"), "{runtimes}");
    assert!(site.workspace.read_text(".brigade/tools.toml").contains("API_KEY"));
    // The user's catalog is outside of the workspace.
    let user =
        register(&site, "id: jq\nsource: {type: cli, command: jq}\n", "u.yaml", &["--level", "user"], 0);
    assert!(user["config_path"].as_str().unwrap().ends_with("brigade/tools.toml"));
    assert!(fs::read_to_string(user["config_path"].as_str().unwrap()).unwrap().contains("id = \"jq\""));
}
