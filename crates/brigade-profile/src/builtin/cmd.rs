//! Commands and test suites.

use super::*;

/// Commands and test suites.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "cmd.run",
        title: "Run a command",
        description: "Runs one command without a shell, confined, and returns what it printed and its exit \
            code.",
        input: "command!:string args?:[string] cwd:string=\".\" timeout_seconds:integer(1..600)=600 \
            max_output_bytes:integer(1..)=1048576 env?:object",
        output: "stdout:string stderr:string exit_code:?integer timed_out:boolean truncated:boolean",
        effects: &["process-exec"],
        tiers: &[Tier::Universal, Tier::Control],
        modes: &[Mode::Operator],
        approval: Approval::Ask,
        judge: Judge::Run,
        stage: 3,
        aliases: &[
            Alias { name: "bash", arguments: &[("timeout", "timeout_seconds/1000")], ..ALIAS },
            Alias { name: "runCommand", ..ALIAS },
        ],
        arguments: ArgumentKinds { commands: &["command"], paths: &["cwd"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "test.list",
        title: "List test suites",
        description: "Lists the test suites of the catalog.",
        output: "suites:[string]",
        effects: &["local-read"],
        tiers: &[Tier::Control],
        stage: 3,
        needs: &[Fact::TestSuites],
        aliases: &[Alias { name: "listTestSuites", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "test.run",
        title: "Run a test suite",
        description: "Calls a test suite of the catalog.",
        input: "suite!:string",
        output: "call_id:string",
        effects: &["process-exec"],
        tiers: &[Tier::Control],
        approval: Approval::Ask,
        stage: 3,
        needs: &[Fact::TestSuites],
        aliases: &[Alias { name: "runTestSuite", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "test.runs",
        title: "List test runs",
        description: "Lists runs of test suites.",
        input: "suite!:string",
        output: "runs:[object]",
        effects: &["local-read"],
        tiers: &[Tier::Control],
        stage: 3,
        needs: &[Fact::TestSuites],
        aliases: &[Alias { name: "listTestRuns", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "test.stop",
        title: "Stop a test suite",
        description: "Ends a test suite that runs.",
        input: "suite!:string",
        output: "call_id:string cancelled:boolean",
        effects: &["process-control"],
        tiers: &[Tier::Control],
        approval: Approval::Ask,
        stage: 3,
        needs: &[Fact::TestSuites],
        aliases: &[Alias { name: "stopTestSuite", ..ALIAS }],
        ..ROW
    },
];
