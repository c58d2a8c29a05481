//! Repositories, lanes and proofs.

use super::*;

/// Repositories, lanes and proofs.
pub(super) const ROWS: &[Definition] = &[
    Definition {
        id: "git.clone",
        title: "Clone a repository",
        description: "Clones a repository that the policy allows into a volume.",
        input: "repo_url!:string label!:string credential_binding_id?:string \
            git_ref:object={\"kind\":\"branch\",\"value\":\"main\"} sparse_paths?:[string] \
            auto_refresh:boolean=false shallow:boolean=true",
        output: "binding:object",
        effects: &["local-write", "remote-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: Approval::Ask,
        judge: Judge::Run,
        stage: 2,
        arguments: ArgumentKinds { urls: &["repo_url"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "git.commit",
        title: "Commit changes",
        description: "Commits changes of a repository. No hooks run.",
        input: "binding_id!:string message!:string paths?:[string]",
        output: "binding_id:string commit_sha:string",
        effects: &["local-write"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: Approval::Ask,
        judge: Judge::Run,
        stage: 2,
        needs: &[Fact::Repository],
        ..ROW
    },
    Definition {
        id: "git.delete",
        title: "Delete a repository",
        description: "Deletes a cloned repository.",
        input: "binding_id!:string",
        output: "binding_id:string deleted:boolean",
        effects: &["local-delete"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: Approval::Ask,
        judge: Judge::Run,
        stage: 2,
        ..ROW
    },
    Definition {
        id: "git.diff",
        title: "Show changes",
        description: "Shows the changes of a repository as a unified diff.",
        input: "binding_id!:string staged:boolean=false",
        output: "binding_id:string staged:boolean truncated:boolean",
        effects: &["local-read"],
        tiers: &[Tier::Platform, Tier::Universal],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 2,
        needs: &[Fact::Repository],
        aliases: &[Alias { name: "gitDiff", fill: &[("binding_id", "\"workspace\"")], ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "git.list",
        title: "List repositories",
        description: "Lists the repositories of this agent.",
        input: "page?:integer limit?:integer",
        output: "bindings:[object] total:integer page:integer limit:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 2,
        ..ROW
    },
    Definition {
        id: "git.log",
        title: "Show commits",
        description: "Lists the newest commits of a repository.",
        input: "binding_id!:string limit:integer(1..200)=20",
        output: "commits:[sha:string author:string date:string subject:string]",
        effects: &["local-read"],
        stage: 2,
        needs: &[Fact::Repository],
        aliases: &[Alias { name: "gitLog", fill: &[("binding_id", "\"workspace\"")], ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "git.push",
        title: "Push commits",
        description: "Pushes commits of a repository, never by force.",
        input: "binding_id!:string remote:string=\"origin\" ref?:string",
        output: "binding_id:string remote:string ref:string commit_sha:string",
        effects: &["remote-mutation"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: Approval::Always,
        judge: Judge::Run,
        stage: 2,
        needs: &[Fact::Repository],
        ..ROW
    },
    Definition {
        id: "git.refresh",
        title: "Refresh a repository",
        description: "Fetches a repository and moves its branch forward. One with changes is refused.",
        input: "binding_id!:string",
        output: "binding:object changed:boolean",
        effects: &["local-write", "remote-read"],
        tiers: &[Tier::Platform],
        modes: &[Mode::Operator],
        approval: Approval::Ask,
        judge: Judge::Run,
        stage: 2,
        ..ROW
    },
    Definition {
        id: "git.status",
        title: "Show a repository",
        description: "Shows how a repository stands: its branch, what is changed, and how far it is from its \
            remote.",
        input: "binding_id!:string",
        output: "binding:object dirty:boolean ahead:integer behind:integer",
        effects: &["local-read"],
        tiers: &[Tier::Platform, Tier::Universal],
        modes: &[Mode::Operator],
        judge: Judge::Skip,
        stage: 2,
        needs: &[Fact::Repository],
        aliases: &[Alias { name: "gitStatus", fill: &[("binding_id", "\"workspace\"")], ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "lane.archive",
        title: "Archive a lane",
        description: "Puts a lane away. Work that is not merged is kept unless a person agrees.",
        input: "lane_id!:string name?:string",
        output: "lane:object",
        effects: &["state-write"],
        tiers: &[Tier::Control],
        stage: 2,
        needs: &[Fact::Repository],
        aliases: &[Alias { name: "archiveLane", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "lane.create",
        title: "Create a lane",
        description: "Creates a branch with a worktree of its own. Nothing is pushed.",
        input: "name!:string description?:string parentLaneId?:string",
        output: "success:boolean lane_id:string name:string branch:string worktree_path:string",
        effects: &["local-write"],
        tiers: &[Tier::Workflow, Tier::Coordinator],
        stage: 2,
        needs: &[Fact::Repository],
        aliases: &[
            Alias { name: "createLane", ..ALIAS },
            Alias { name: "transfer_lane", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "lane.get",
        title: "Show a lane",
        description: "Shows how a lane stands.",
        input: "lane_id!:string",
        output: "id:string name:string branch:string base:string path:string dirty:boolean \
            ahead:integer behind:integer parent:?string archived:boolean",
        effects: &["local-read"],
        tiers: &[Tier::Control],
        stage: 2,
        needs: &[Fact::Repository],
        aliases: &[Alias { name: "inspectLane", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "lane.list",
        title: "List lanes",
        description: "Lists the lanes of this workspace.",
        output: "lanes:[id:string name:string branch:string base:string path:string dirty:boolean \
            ahead:integer behind:integer parent:?string archived:boolean]",
        effects: &["local-read"],
        tiers: &[Tier::Control],
        stage: 2,
        needs: &[Fact::Repository],
        aliases: &[Alias { name: "listLanes", ..ALIAS }],
        ..ROW
    },
    Definition {
        id: "lane.rename",
        title: "Rename a lane",
        description: "Gives a lane another name.",
        input: "lane_id!:string name!:string",
        output: "lane:object",
        effects: &["state-write"],
        tiers: &[Tier::Control, Tier::Coordinator],
        stage: 2,
        needs: &[Fact::Repository],
        aliases: &[
            Alias { name: "renameLane", ..ALIAS },
            Alias { name: "provision_lane", tier: Some(Tier::Coordinator), ..ALIAS },
        ],
        ..ROW
    },
    Definition {
        id: "proof.attach",
        title: "Attach a proof",
        description: "Keeps a copy of a file as proof, with its sha256.",
        input: "path!:string description?:string",
        output: "artifact_id:string sha256:string size_bytes:integer",
        effects: &["local-read", "state-write"],
        tiers: &[Tier::Workflow],
        stage: 2,
        arguments: ArgumentKinds { paths: &["path"], ..NO_ARGUMENTS },
        ..ROW
    },
    Definition {
        id: "proof.screenshot",
        title: "Capture the screen",
        description: "Keeps a picture of the screen as proof.",
        output: "artifact_id:string sha256:string",
        effects: &["local-write"],
        tiers: &[Tier::Workflow],
        stage: 7,
        needs: &[Fact::Screenshot],
        aliases: &[Alias { name: "captureScreenshot", ..ALIAS }],
        ..ROW
    },
];
