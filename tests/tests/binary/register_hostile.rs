//! `tools register` under stress: concurrent commands, kills, unwritable files, and hostile sources.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests set up files and look at what the binary left")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Stdio;
use std::time::{Duration, Instant};

use brigade_tests::Site;
use serde_json::Value;

const KEPT: &str =
    "# mine\n[[tool]]\nid = \"own\" # the first\nname = \"Own\"\nfamily = \"script\"\ncommand = \"sh\"\n";

fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(".brigade/tools.toml", KEPT);
    site
}

fn cli(id: &str) -> String {
    format!("id: {id}\nsource: {{type: cli, command: jq}}\n")
}

fn source(site: &Site, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let file = site.beside(name);
    fs::write(&file, bytes).unwrap();
    file.display().to_string()
}

fn catalog(site: &Site) -> String {
    site.workspace.read_text(".brigade/tools.toml")
}

fn codes(document: &Value) -> Vec<&str> {
    document["errors"].as_array().unwrap().iter().map(|row| row["code"].as_str().unwrap()).collect()
}

#[test]
fn registrations_at_once_all_land() {
    let site = site();
    let files: Vec<String> = (0..6)
        .map(|n| {
            source(
                &site,
                &format!("{n}.yaml"),
                format!("id: s{n}\nsource: {{type: mcp, transport: stdio, command: 'server {n}'}}\n"),
            )
        })
        .collect();
    let start = |file: &String| {
        let mut command = site.brigade.command(["tools", "register", file]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let running: Vec<_> = files.iter().map(start).collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    let text = catalog(&site);
    assert!(text.starts_with(KEPT), "{text}");
    let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
    for n in 0..6 {
        assert!(text.contains(&format!("id = \"s{n}\"")), "{text}");
        assert!(runtimes.contains(&format!("command = \"server {n}\"")), "{runtimes}");
    }
    assert_eq!(site.json(["list"]).expect(0)["valid"], true);
}

#[test]
fn killed_registration_can_be_repeated() {
    let site = site();
    let file = source(&site, "s.yaml", "id: srv\nsource: {type: mcp, transport: stdio, command: server}\n");
    for delay in 0..12 {
        site.workspace.write(".brigade/tools.toml", KEPT);
        let _ = fs::remove_file(site.workspace.path().join(".brigade/tools/runtimes.toml"));
        let mut command = site.brigade.command(["tools", "register", &file]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The files are complete, whenever the command is killed.
        let end = Instant::now() + Duration::from_millis(delay * 2);
        while Instant::now() < end && child.try_wait().unwrap().is_none() {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        let _ = child.kill();
        child.wait().unwrap();
        let text = catalog(&site);
        assert!(text == KEPT || text.starts_with(KEPT) && text.contains("id = \"srv\""), "{text}");
        assert_eq!(site.json(["list"]).expect(0)["valid"], true);
        if text == KEPT {
            site.json(["register", &file]).expect(0);
        }
        let runtimes = site.workspace.read_text(".brigade/tools/runtimes.toml");
        assert_eq!(runtimes.matches("[[runtime]]").count(), 1, "{runtimes}");
    }
    // A leftover runtime without its tool is reused.
    site.workspace.write(".brigade/tools.toml", KEPT);
    site.json(["register", &file]).expect(0);
    // A runtime that a person enabled is not reused.
    site.workspace.write(".brigade/tools.toml", KEPT);
    site.workspace.replace(".brigade/tools/runtimes.toml", "enabled = false", "enabled = true");
    assert_eq!(codes(&site.json(["register", &file]).expect(1)), ["id_taken"]);
}

#[test]
fn unwritable_files_stay_unchanged() {
    let site = site();
    let file = source(&site, "jq.yaml", cli("jq"));
    let folder = site.workspace.path().join(".brigade");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    // Root can write everywhere.
    if fs::write(folder.join("probe"), "").is_err() {
        assert_ne!(site.tools(["register", &file]).code(), Some(0));
        assert_eq!(catalog(&site), KEPT);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let _ = fs::remove_file(folder.join("probe"));
    site.workspace.write(".brigade/tools/runtimes.toml", "[[runtime]\n");
    let broken = site.json(["register", &file]).expect(1);
    assert_eq!(
        (codes(&broken), &broken["errors"][0]["file"]),
        (vec!["target_invalid"], &Value::from(".brigade/tools/runtimes.toml"))
    );
    assert_eq!(
        (catalog(&site).as_str(), site.workspace.read_text(".brigade/tools/runtimes.toml").as_str()),
        (KEPT, "[[runtime]\n")
    );
    site.workspace.write(".brigade/tools/runtimes.toml", "");
    site.workspace.write(".brigade/tools.toml", "schema = 9\n");
    assert_eq!(codes(&site.json(["register", &file]).expect(1)), ["target_invalid"]);
    assert_eq!(catalog(&site), "schema = 9\n");
    // A path that is not a directory.
    fs::write(site.workspace.home().join(".config"), "a file").unwrap();
    assert_ne!(site.tools(["register", &file, "--level", "user"]).code(), Some(0));
}

#[test]
fn files_of_strangers_are_refused_in_time() {
    let site = site();
    let pipe = site.beside("pipe.yaml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let around = site.beside("loop.yaml");
    symlink(&around, &around).unwrap();
    let directory = site.beside("directory.yaml");
    fs::create_dir(&directory).unwrap();
    let bomb = {
        let line = |n: usize| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(","));
        "a0: &a0 [x]\n".to_owned() + &(1..30).map(line).collect::<String>() + "tools: *a29\n"
    };
    let files = [
        pipe.display().to_string(),
        around.display().to_string(),
        directory.display().to_string(),
        source(&site, "bomb.yaml", bomb),
        source(&site, "deep.json", "[".repeat(3 << 20)),
        source(&site, "deep.yaml", format!("a: {}", "[".repeat(3 << 20))),
        source(&site, "large.json", "[".repeat(10 << 20)),
        source(&site, "deep.toml", format!("a = {}", "[".repeat(1 << 20))),
        source(&site, "latin.yaml", b"id: caf\xe9\n"),
        source(&site, "latin.toml", b"[[tool]]\nid = 'caf\xe9'\n"),
        source(&site, "empty.yaml", ""),
        source(&site, "control.yaml", "id: \"a\\e[2Jb\"\nsource: {type: cli, command: jq}\n"),
    ];
    for file in &files {
        let run = site.tools(["register", file]);
        assert!(matches!(run.code(), Some(1..=3)), "{file}: {run}");
        assert!(
            !run.stderr_text().contains('\u{1b}') && !run.stdout_text().contains('\u{1b}'),
            "{file}: {run}"
        );
        assert_eq!(catalog(&site), KEPT, "{file}");
    }
    // An id that looks like an option is still an id.
    let file = source(&site, "option.yaml", cli("--help"));
    site.json(["register", &file]).expect(0);
    site.tools(["show", "--json", "--", "--help"]).assert_code(0);
}

#[test]
fn the_next_registration_removes_leftovers() {
    let site = site();
    let ended = u32::MAX / 2;
    let left = [
        format!(".brigade/.tools.toml.{ended}-1.tmp"),
        format!(".brigade/tools/.runtimes.toml.{ended}-1.tmp"),
        format!(".brigade/tools/.registered.json.{ended}-0.tmp"),
    ];
    let other = format!(".brigade/.mine.toml.{ended}-1.tmp");
    left.iter().chain([&other]).for_each(|path| site.workspace.write(path, "half"));
    site.workspace.write(".mcp.json", r#"{"mcpServers": {"one": {"command": "one"}}}"#);
    site.json(["register", "mcp:one@claude/project"]).expect(0);
    assert!(left.iter().all(|path| !site.workspace.join(path).exists()));
    assert!(site.workspace.join(&other).exists());
}
