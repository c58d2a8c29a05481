//! Creates a git repository for a new workspace, for the demo.

use brigade_core::{ErrorCode, ErrorKind};
use brigade_fs::RelPath;
use brigade_policy::Failure;

use crate::kitchen::Kitchen;
use brigade_git::{Git, GitError, Identity};
use brigade_workspace::own_programs;

/// The branch of the first commit.
const BRANCH: &str = "main";

impl Kitchen<'_> {
    /// Creates a git repository in the workspace, with one commit of its files.
    ///
    /// # Errors
    /// Fails if the workspace is in a repository, git is missing, or git fails.
    pub fn new_repository(&self, message: &str) -> Result<(), Failure> {
        if self.fs.exists(&RelPath::from_static(".git"))? {
            let failure = Failure::new(ErrorKind::Usage, "the workspace is a git repository already");
            return Err(failure.coded(ErrorCode::FileExists));
        }
        let failed = |error: GitError| Failure::new(ErrorKind::Environment, error.to_string());
        let git = Git::find(&own_programs(&*self.fs, self.environment), self.fs.root()).map_err(failed)?;
        let git = git.ok_or_else(|| Failure::new(ErrorKind::Environment, "git is not there"))?;
        let root = self.fs.root();
        let Identity { name, email } =
            Identity::from_settings(&brigade_git::Settings::default(), self.environment);
        let run = |operation: &'static str, words: &[&str]| {
            let order = git.order(operation).words(words).within(root);
            let order = order.setting("user.name", &name).setting("user.email", &email);
            order.run().map(drop).map_err(failed)
        };
        run("init", &["--quiet", "--initial-branch", BRANCH])?;
        run("add", &["--all"])?;
        run("commit", &["--quiet", "--no-verify", "--message", message])
    }
}
