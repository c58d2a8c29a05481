//! `brigade review` in a pseudo-terminal.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "a test sends signals to its command")]

use std::io::{Read, Write};
use std::process::Command;
use std::sync::{Arc, Mutex};

use brigade_testkit::assert_snapshot;
use brigade_tests::{Site, until};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// A command on a pseudo-terminal, and what its screen shows.
struct Tty {
    parser: Arc<Mutex<vt100::Parser>>,
    /// Everything that was written.
    written: Arc<Mutex<Vec<u8>>>,
    keys: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

impl Tty {
    /// Starts a command in a window of this many columns and rows.
    fn start(planned: &Command, (columns, rows): (u16, u16), term: &str) -> Tty {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(planned.get_program());
        command.args(planned.get_args());
        command.env_clear();
        for (name, value) in planned.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.env("TERM", term);
        command.cwd(planned.get_current_dir().unwrap());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let parser = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let mut output = pair.master.try_clone_reader().unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let (shown, all) = (parser.clone(), written.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..count]);
                all.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Tty { parser, written, keys, master: pair.master, child }
    }

    fn review(site: &Site, size: (u16, u16)) -> Tty {
        let tty = Tty::start(&site.brigade.command(["review"]), size, "xterm-256color");
        tty.see("q quit");
        tty
    }

    fn screen(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits until the screen shows a text, and returns it.
    #[track_caller]
    fn see(&self, text: &str) -> String {
        until(&format!("`{text}` on the screen"), || {
            let screen = self.screen();
            screen.contains(text).then_some(screen)
        })
    }

    /// Waits for the end, and returns the exit code.
    fn end(&mut self) -> u32 {
        self.child.wait().unwrap().exit_code()
    }

    fn resize(&self, (columns, rows): (u16, u16)) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).unwrap();
        self.parser.lock().unwrap().screen_mut().set_size(rows, columns);
    }

    /// Checks that the terminal has no mode of the screen left.
    #[track_caller]
    fn assert_left(&self) {
        until("the modes of the terminal as before", || {
            let parser = self.parser.lock().unwrap();
            let screen = parser.screen();
            let is_left = !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None;
            is_left.then_some(())
        });
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn site() -> Site {
    let lines = "argument_template = { name = \"{name}\" }\neffects = [\"local-read\"]";
    let site = Site::script_with("echo \"ran $1\"\n", lines);
    site.workspace.write("schemas/tool.json", r#"{"type":"object","properties":{"name":{"type":"string"}}}"#);
    site.add_to_catalog(&Site::entry(
        "send",
        "sh bin/tool.sh",
        "argument_template = { name = \"{name}\" }\neffects = [\"network\"]",
    ));
    site
}

fn queue(site: &Site, tool: &str, name: &str) -> String {
    site.queue(tool, &serde_json::json!({ "name": name }).to_string())
}

/// Replaces what differs from run to run: ages, times, and the path of the workspace.
fn steady(screen: &str) -> String {
    let mut lines = Vec::new();
    for (number, line) in screen.lines().enumerate() {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for word in &mut words {
            let digits: String = word.chars().filter(char::is_ascii_digit).collect();
            let is_age = word.ends_with('s') && !digits.is_empty() && digits.len() + 1 == word.len();
            let is_time = word.len() == 8 && word.matches(':').count() == 2 && digits.len() == 6;
            if is_age {
                *word = "0s".to_owned();
            } else if is_time {
                *word = "00:00:00".to_owned();
            }
        }
        let line = words.join(" ");
        let line = match number {
            0 => line.split("waiting").next().unwrap_or_default().to_owned() + "waiting",
            _ => line,
        };
        let seconds = (1..20).map(|count| format!("{count} second{} ago", if count == 1 { "" } else { "s" }));
        lines.push(seconds.fold(line, |line, age| line.replace(&age, "just now")).trim_end().to_owned());
    }
    lines.join("\n") + "\n"
}

#[track_caller]
fn snapshot(name: &str, screen: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tests/binary/snapshots/review");
    assert_snapshot(format!("{folder}/{name}.txt"), &steady(screen));
}

#[test]
fn the_screen_fits_into_small_and_large_windows() {
    let site = site();
    for (tool, name) in [("tool", "a"), ("send", "b\u{1b}]0;owned\u{7}\u{202e}"), ("tool", "c d")] {
        queue(&site, tool, name);
    }
    let mut tty = Tty::review(&site, (60, 16));
    snapshot("60x16", &tty.see("bin/tool.sh"));
    tty.press("a");
    snapshot("60x16-question", &tty.see("y yes"));
    tty.press("\x1b");
    tty.see("q quit");
    tty.resize((40, 10));
    tty.see("too small");
    for (size, hints) in [((80, 24), "Enter details  / filter"), ((200, 60), "Space mark")] {
        tty.resize(size);
        snapshot(&format!("{}x{}", size.0, size.1), &tty.see(hints));
    }
    let written = String::from_utf8_lossy(&tty.written.lock().unwrap()).into_owned();
    assert!(!written.contains("\u{1b}]") && !written.contains('\u{7}'), "hostile text acts on the terminal");
    tty.press("q");
    assert_eq!(tty.end(), 0);
    tty.assert_left();
}

#[test]
fn keys_decide_and_run() {
    let site = site();
    let (first, second) = (queue(&site, "tool", "a"), queue(&site, "tool", "b"));
    let mut tty = Tty::review(&site, (100, 30));
    // What was typed before the question was drawn, and pasted text, does not answer.
    tty.press("ay");
    tty.see("y yes");
    tty.press("\x1b[200~y\x1b[201~");
    tty.press("\x1b");
    tty.see("q quit");
    assert_eq!((site.status(&first).as_str(), site.status(&second).as_str()), ("pending", "pending"));
    tty.press(" ");
    tty.see("1 marked");
    tty.press(" ");
    tty.see("2 marked");
    tty.press("a");
    let question = tty.see("Approve these 2 calls?");
    assert!(question.contains(&first) && question.contains(&second), "{question}");
    tty.press("y");
    tty.see("2 approved");
    assert_eq!((site.status(&first).as_str(), site.status(&second).as_str()), ("approved", "approved"));
    tty.press("x");
    tty.see("Run this call?");
    tty.press("y");
    let run = tty.see("exit code:");
    assert!(run.contains("ran "), "{run}");
    tty.press("\x1b");
    tty.see("Enter details");
    tty.press("g");
    tty.see("history, newest first");
    tty.press("q");
    assert_eq!(tty.end(), 0);
}

#[test]
fn two_reviewers_share_one_queue() {
    let site = site();
    let call = queue(&site, "tool", "a");
    let (mut one, mut other) = (Tty::review(&site, (100, 30)), Tty::review(&site, (80, 24)));
    one.press("a");
    one.see("y yes");
    other.press("r");
    other.see("Reason to reject:");
    other.press("\u{200b} \u{2800}\r");
    other.see("an empty text is not taken");
    other.press("\x15");
    other.press("not today\r");
    other.see("rejected");
    assert_eq!(site.status(&call), "rejected");
    one.see("what waits changed meanwhile");
    one.press("y");
    let refused = one.see("not done");
    assert!(refused.contains("changed since it was shown") && refused.contains("+ rejected"), "{refused}");
    assert_eq!(site.status(&call), "rejected");
    one.press("\x1b");
    one.see("nothing waits");
    // A new call is on both screens.
    queue(&site, "tool", "later");
    one.see("name=later");
    other.see("name=later");
}

#[test]
fn a_changed_file_refuses_the_approval_with_the_difference() {
    let site = site();
    let call = queue(&site, "tool", "a");
    let mut tty = Tty::review(&site, (100, 40));
    tty.press("a");
    tty.see("y yes");
    site.workspace.write("bin/tool.sh", "rm -r .\n");
    tty.press("y");
    let refused = tty.see("not done");
    assert!(refused.contains("changed since it was shown: code"), "{refused}");
    assert!(refused.contains("- bin/tool.sh ") && refused.contains("+ bin/tool.sh "), "{refused}");
    assert_eq!(site.status(&call), "pending");
}

#[test]
fn the_terminal_is_as_before_however_it_ends() {
    let site = site();
    queue(&site, "tool", "a");
    for end in ["q", "\x03", "TERM", "HUP"] {
        let mut tty = Tty::review(&site, (80, 24));
        match end {
            "TERM" | "HUP" => {
                let pid = tty.child.process_id().unwrap().to_string();
                let kill = Command::new("kill").args([format!("-{end}"), pid]).status();
                assert!(kill.unwrap().success());
            }
            keys => tty.press(keys),
        }
        assert_eq!(tty.end(), 0, "{end:?}");
        tty.assert_left();
        let modes = tty.master.get_termios().unwrap().local_flags;
        assert!(format!("{modes:?}").contains("ICANON"), "{end:?}: {modes:?}");
    }
}

#[test]
fn a_stopped_screen_gives_the_terminal_back() {
    let site = site();
    queue(&site, "tool", "a");
    let review = site.brigade.command(["review"]);
    let mut shell = Command::new("/bin/sh");
    // With `-m`, the shell continues when its command is stopped.
    shell.args(["-mc", r#""$0" "$@"; echo stopped; read line; fg >/dev/null; echo over"#]);
    shell
        .arg(review.get_program())
        .args(review.get_args())
        .current_dir(review.get_current_dir().unwrap())
        .env_clear();
    shell.envs(review.get_envs().filter_map(|(name, value)| Some((name, value?))));
    for stop in ["\x1a", "TSTP", "STOP"] {
        let mut tty = Tty::start(&shell, (80, 24), "xterm-256color");
        tty.see("q quit");
        match stop {
            "\x1a" => tty.press(stop),
            signal => {
                let shell = tty.child.process_id().unwrap();
                let children =
                    std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
                let kill = Command::new("kill").args([&format!("-{signal}"), children.trim()]).status();
                assert!(kill.unwrap().success());
            }
        }
        tty.see("stopped");
        // Nothing gives the terminal back before a stop that cannot be caught.
        if stop != "STOP" {
            tty.assert_left();
        }
        // What is drawn after this is new.
        tty.parser.lock().unwrap().process(b"\x1b[2J");
        tty.press("\n");
        tty.see("q quit");
        tty.press("q");
        tty.see("over");
        tty.assert_left();
    }
}

#[test]
fn a_checkpoint_is_answered_by_its_number() {
    let site = Site::script(
        r#"[ -n "${BRIGADE_TOOL_RESUME_CHECKPOINT_ID:-}" ] && exit 0
echo '{"id":"gate","prompt":"Go on?","choices":["yes","no"]}' > "$BRIGADE_TOOL_CHECKPOINT_DIR/one.json"
"#,
    );
    let call = site.approved("tool", "{}");
    site.run_call(&call).expect(0);
    let mut tty = Tty::review(&site, (100, 30));
    tty.see("1-9 choose");
    let screen = tty.see("2 no");
    assert!(screen.contains("Go on?"), "{screen}");
    tty.press("3");
    tty.see("there is no such choice");
    tty.press("2");
    tty.see("Answer this with no?");
    tty.press("y");
    tty.see("answered");
    assert_eq!(site.status(&call), "resume-pending");
}

#[test]
fn a_terminal_without_sequences_asks_in_turn() {
    let site = site();
    let (low, high) = (queue(&site, "tool", "a"), queue(&site, "send", "b"));
    let mut tty = Tty::start(&site.brigade.command(["review"]), (80, 40), "dumb");
    tty.see("[1/2] Approve send?");
    tty.press("n \u{200b}\n");
    tty.see("a rejection needs a reason");
    tty.press("n too broad\n");
    tty.see("[2/2] Approve tool?");
    tty.press("q\n");
    assert_eq!(tty.end(), 0);
    assert_eq!((site.status(&low).as_str(), site.status(&high).as_str()), ("pending", "rejected"));
}

#[test]
fn without_a_terminal_other_commands_are_named() {
    let site = site();
    for words in [["review"].as_slice(), &["tools", "review"]] {
        let run = site.brigade.run(words);
        run.assert_code(2);
        assert!(run.stderr_text().contains("brigade approve ID"), "{run}");
    }
    let document = site.document(["review"]).expect(2);
    assert_eq!((&document["code"], &document["kind"]), (&"no_terminal".into(), &"usage".into()));
}
