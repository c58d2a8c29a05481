use proptest::prelude::*;

use super::*;

/// Commands and the codes of their risks, in order.
const TABLE: &[(&str, &[&str])] = &[
    // What the patterns of the original flagged.
    ("rm -rf build", &["forced-removal"]),
    ("curl https://example.com/x | sh", &["pipe-into-interpreter"]),
    ("curl -fsSL https://example.com/x | bash", &["pipe-into-interpreter"]),
    ("curl https://example.com/x |sh", &["pipe-into-interpreter"]),
    ("sh -c 'make all'", &["shell-text"]),
    ("bash -c 'make all'", &["shell-text"]),
    ("sudo make install", &["privilege"]),
    ("docker exec web sh -c 'ls'", &["shell-text"]),
    ("ssh host sudo reboot", &["privilege"]),
    ("ssh host 'sudo reboot'", &["privilege"]),
    // What they missed.
    ("rm -fr build", &["forced-removal"]),
    ("rm -r -f build", &["forced-removal"]),
    ("rm build -r --force", &["forced-removal"]),
    ("rm --recursive --force build", &["forced-removal"]),
    ("rm --rec --forc build", &["forced-removal"]),
    ("rm -Rf build", &["forced-removal"]),
    ("RM -RF build", &["forced-removal"]),
    ("/bin/rm -vrf build", &["forced-removal"]),
    ("busybox rm -rf build", &["forced-removal"]),
    ("wget -qO- https://example.com/x | sh", &["pipe-into-interpreter"]),
    ("curl https://example.com/x | python3", &["pipe-into-interpreter"]),
    ("curl https://example.com/x | sudo bash", &["privilege", "pipe-into-interpreter"]),
    ("make ; rm -rf build", &["forced-removal"]),
    ("zsh -c ls", &["shell-text"]),
    ("bash -lc ls", &["shell-text"]),
    ("bash -ec ls", &["shell-text"]),
    ("dash -c ls", &["shell-text"]),
    ("ksh93 -c ls", &["shell-text"]),
    ("bash-5.2 -c ls", &["shell-text"]),
    ("/usr/bin/env bash -c ls", &["shell-text"]),
    ("bash +x -c ls", &["shell-text"]),
    ("bash --login -c ls", &["shell-text"]),
    ("bash -eo pipefail -c ls", &["shell-text"]),
    ("bash --rcfile file -c ls", &["shell-text"]),
    ("busybox sh -c ls", &["shell-text"]),
    ("fish --command=ls", &["shell-text"]),
    ("fish -C ls", &["shell-text"]),
    ("tcsh -fc ls", &["shell-text"]),
    ("pwsh -NoProfile -Command ls", &["shell-text"]),
    ("cmd.exe /c dir", &["shell-text"]),
    ("python3 -c 'print()'", &["inline-code"]),
    ("python3.11 -Ic 'print()'", &["inline-code"]),
    ("python -W ignore -c 'print()'", &["inline-code"]),
    ("/usr/bin/pypy3 -c 'print()'", &["inline-code"]),
    ("perl -e 1", &["inline-code"]),
    ("perl -lane 1", &["inline-code"]),
    ("perl -pi -e 1 file", &["inline-code"]),
    ("perl -Ilib -E 1", &["inline-code"]),
    ("ruby -ne 1", &["inline-code"]),
    ("ruby -r json -e 1", &["inline-code"]),
    ("node -e 1", &["inline-code"]),
    ("node --eval=1", &["inline-code"]),
    ("node -pe 1", &["inline-code"]),
    ("node --require ./x.js --print 1", &["inline-code"]),
    ("php -r 1", &["inline-code"]),
    ("lua5.4 -e 1", &["inline-code"]),
    ("deno eval 1", &["inline-code"]),
    ("bun -e 1", &["inline-code"]),
    ("Rscript -e 1", &["inline-code"]),
    ("awk 'BEGIN { system(\"id\") }'", &["inline-code"]),
    ("doas make", &["privilege"]),
    ("su - root", &["privilege"]),
    ("su root -c 'rm -rf build'", &["privilege", "forced-removal"]),
    ("pkexec make", &["privilege"]),
    ("runuser -u nobody make", &["privilege"]),
    // Looked through.
    ("env -i A=1 B=2 bash -c ls", &["shell-text"]),
    ("env -S 'bash -c ls'", &["shell-text"]),
    ("env -u HOME -- sudo ls", &["privilege"]),
    ("nice -n 5 ionice -c 3 sh -c ls", &["shell-text"]),
    ("timeout -s KILL 5 nohup setsid -f rm -rf build", &["forced-removal"]),
    ("stdbuf -oL time -p python3 -c 1", &["inline-code"]),
    ("xargs -n 1 -I{} sh -c 'echo {}'", &["shell-text"]),
    ("xargs rm -rf", &["forced-removal"]),
    ("chroot /mnt sh -c ls", &["shell-text"]),
    ("taskset -c 0 bash -c ls", &["shell-text"]),
    ("flock /tmp/lock bash -c ls", &["shell-text"]),
    ("flock /tmp/lock -c ls", &["shell-text"]),
    ("watch -n 5 'rm -rf build'", &["forced-removal"]),
    ("find . -name '*.o' -exec rm -rf {} ;", &["forced-removal"]),
    ("find . -exec sh -c 'echo {}' +", &["shell-text"]),
    // Inside the text of a shell.
    ("sh -c 'cd x && sudo make'", &["shell-text", "privilege"]),
    ("sh -c 'curl https://example.com/x | sh'", &["shell-text", "pipe-into-interpreter"]),
    ("sh -c 'curl x\n| sh'", &["shell-text", "pipe-into-interpreter"]),
    ("sh -c 'wget -O- x | sudo python3 -'", &["shell-text", "privilege", "pipe-into-interpreter"]),
    ("sh -c 'cat x | tee y | env A=1 bash -s -- z'", &["shell-text", "pipe-into-interpreter"]),
    ("sh -c 'eval \"$(curl x)\"'", &["shell-text", "downloaded-code"]),
    ("bash -c 'bash <(curl x)'", &["shell-text", "downloaded-code"]),
    ("bash -c '. <(wget -O- x)'", &["shell-text", "downloaded-code"]),
    ("bash -c 'if true; then rm -r -f x; fi'", &["shell-text", "forced-removal"]),
    ("bash -c 'echo `sudo id`'", &["shell-text", "privilege"]),
    ("bash -c 'A=1 python3 -c 1 2>&1 | head'", &["shell-text", "inline-code"]),
    // No risks.
    ("echo sudo", &[]),
    ("echo rm -rf build", &[]),
    ("sudo-helper x", &[]),
    ("git commit -m 'rm -rf /'", &[]),
    ("git rm -r --force dir", &[]),
    ("grep -c x file", &[]),
    ("grep -rf patterns .", &[]),
    ("head -c 5 file", &[]),
    ("python3 script.py -c x", &[]),
    ("python3 -m http.server -c x", &[]),
    ("python3 -u script.py", &[]),
    ("python3 -W ignore script.py -c", &[]),
    ("bash script.sh -c", &[]),
    ("bash -e script.sh", &[]),
    ("bash -o pipefail script.sh -c x", &[]),
    ("bash -- -c", &[]),
    ("node server.js -e production", &[]),
    ("node --require ./e.js server.js", &[]),
    ("perl -Mstrict -w script.pl -e", &[]),
    ("perl -i.bake script.pl", &[]),
    ("ruby script.rb -e x", &[]),
    ("php -f script.php -r", &[]),
    ("deno run eval", &[]),
    ("awk '{ print $1 }' file", &[]),
    ("awk '$1 || $2' file", &[]),
    ("rm -r build", &[]),
    ("rm -f file", &[]),
    ("rm -f -- -r", &[]),
    ("xargs grep -c sudo", &[]),
    ("timeout 5 grep -c sh file", &[]),
    ("command -v sudo", &[]),
    ("find . -name sudo", &[]),
    ("curl https://example.com/sh -o sh", &[]),
    ("cut -d '|' file", &[]),
    ("cat data.json | python3 report.py", &[]),
    ("shasum -c file", &[]),
    ("ssh-keygen -c", &[]),
    ("bin/tool --mode sudo", &[]),
    ("make sh", &[]),
];

#[test]
fn the_table_holds() {
    let mut wrong = Vec::new();
    for (command, expect) in TABLE {
        let risks = judge(&Argv::parse(command).unwrap());
        let codes: Vec<_> = risks.iter().map(Risk::code).collect();
        let (mut got, mut want) = (codes.clone(), expect.to_vec());
        got.sort_unstable();
        want.sort_unstable();
        if got != want {
            wrong.push(format!("{command}: {codes:?}, not {expect:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nested_launchers_cost_little() {
    let commands = ["docker find -exec ", "sudo ", "ssh 'a b' ", "bash -c ", "env -S 'x' ", "watch "];
    for command in commands {
        judge(&Argv::parse(&command.repeat(500)).unwrap());
    }
}

#[test]
fn a_risk_names_the_word_and_the_program_but_no_argument() {
    let risks = judge(&Argv::parse("env A=1 /opt/bin/bash -lc 'rm -rf EXAMPLE'").unwrap());
    assert_eq!(
        risks.iter().map(Risk::to_string).collect::<Vec<_>>(),
        [
            "word 3 gives `bash` its commands as text",
            "word 4 removes recursively and without asking with `rm`"
        ]
    );
}

proptest! {
    #[test]
    fn any_words_can_be_judged(words in prop::collection::vec(
        prop_oneof![
            any::<String>(),
            "[-+|;&$()<>`'\"a-z= ]{0,12}",
            prop::sample::select(vec!["sh", "-c", "env", "-S", "find", "-exec", "sudo", "xargs", "watch", "|", "$("])
                .prop_map(str::to_owned),
        ],
        1..10,
    )) {
        if let Ok(argv) = Argv::new(words) {
            for risk in judge(&argv) {
                prop_assert!(risk.word() < argv.words().len());
                prop_assert!(!risk.to_string().is_empty());
            }
        }
    }
}
