use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;
use brigade_cmdline::{Argv, Files, PathTarget};
struct Nothing;
impl Files for Nothing {
    fn root(&self) -> &Path { Path::new("/work") }
    fn path_variable(&self) -> Option<&OsStr> { None }
    fn look(&self, _: &Path) -> PathTarget { PathTarget::Inside(None) }
    fn is_program(&self, _: &Path) -> bool { false }
    fn head(&self, _: &Path, _: usize) -> Vec<u8> { Vec::new() }
}
fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let rep = |start: &str, unit: &str, count: usize| format!("{start} {}", vec![unit; count].join(" "));
    let inputs = [
        ("find -exec", rep("find .", "-exec", n)),
        ("find -exec x ;", rep("find .", "-exec rm {} ;", n / 4)),
        ("find -exec find", rep("", "find . -exec", n / 3)),
        ("env A=b", rep("env", "A=b", n)),
        ("env env", rep("", "env", n)),
        ("env -S", rep("env", "-S a", n / 2)),
        ("env -S env", rep("", "env -S", n / 2)),
        ("one =", format!("echo {}", "=".repeat(n * 6))),
        ("one =@", format!("echo {}", "a=@b".repeat(n))),
        ("pipes", rep("a", "| sh", n / 2)),
        ("semi", rep("a", "; b", n / 2)),
        ("-F ;", rep("awk", "-F ;", n / 2)),
        ("uv run", rep("", "uv run", n / 2)),
        ("uv run python", rep("uv run", "python3", n)),
        ("xargs", rep("", "xargs", n)),
        ("sudo", rep("", "sudo", n)),
        ("timeout", rep("", "timeout 5", n / 2)),
        ("sh -c nest", (0..12).fold("x".to_owned(), |text, _| format!("sh -c '{}'", text.replace('\'', "'\\''")))),
        ("sh -c long", format!("sh -c '{}'", vec!["a;"; n].join(" "))),
        ("sh -c $(", format!("sh -c '{}'", "$(".repeat(n * 3))),
        ("sh -c ``", format!("sh -c '{}'", "`a ".repeat(n * 2))),
        ("docker run", rep("", "docker run", n / 2)),
        ("npx", rep("", "npx", n)),
        ("npm exec", rep("", "npm exec", n / 2)),
        ("git -c", rep("git", "-c a.b=c", n / 2)),
        ("git alias", rep("git", "-c alias.x=!sh", n / 2)),
        ("python -m", rep("python3", "-m a", n / 2)),
        ("strace", rep("", "strace -f", n / 2)),
        ("ssh", rep("", "ssh h", n / 2)),
        ("make", rep("make", "A=b", n)),
        ("parallel", rep("", "parallel", n)),
    ];
    let mut sum = Instant::now();
    for (name, text) in inputs {
        let Ok(argv) = Argv::parse(&text) else { println!("{name}: not parsed"); continue };
        let time = |what: &str, work: &dyn Fn()| {
            let start = Instant::now();
            work();
            let ms = start.elapsed().as_millis();
            if 50 < ms { println!("{name} ({} words, {} bytes): {what} {ms} ms", argv.words().len(), text.len()); }
        };
        time("judge", &|| drop(brigade_cmdline::risk::judge(&argv)));
        time("started", &|| drop(brigade_cmdline::risk::started_commands(&argv)));
        time("reads", &|| drop(brigade_cmdline::what_it_reads(&argv, Path::new("/work"), &Nothing)));
        time("only_reads", &|| { brigade_cmdline::only_reads(&argv); });
        sum = Instant::now();
    }
    let _ = sum;
}
