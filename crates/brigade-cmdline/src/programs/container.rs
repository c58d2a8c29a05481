//! The spelling of options of programs that run containers.

/// The options of `docker run`, `create` and `exec`, before the image. There `-e NAME` without a value passes a
/// variable of the program to the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerOptions {
    /// Short options without a value, which may come before `e` in one word.
    pub flags: &'static str,
    /// Short options that take the next word.
    pub valued: &'static str,
    /// Long options without a value.
    pub long_flags: &'static [&'static str],
    /// Long options that take the next word.
    pub long_valued: &'static [&'static str],
}

impl ContainerOptions {
    /// The options of Docker, and of programs that accept its command lines.
    pub const DOCKER: ContainerOptions = ContainerOptions {
        flags: "itdPq",
        valued: "evpwuhlmca",
        long_flags: &[
            "--detach",
            "--init",
            "--interactive",
            "--no-healthcheck",
            "--privileged",
            "--publish-all",
            "--quiet",
            "--read-only",
            "--rm",
            "--tty",
        ],
        long_valued: &[
            "--add-host",
            "--cap-add",
            "--cap-drop",
            "--cpus",
            "--device",
            "--dns",
            "--entrypoint",
            "--env",
            "--env-file",
            "--gpus",
            "--hostname",
            "--ipc",
            "--label",
            "--log-driver",
            "--log-opt",
            "--memory",
            "--mount",
            "--name",
            "--net",
            "--network",
            "--pid",
            "--platform",
            "--publish",
            "--pull",
            "--restart",
            "--security-opt",
            "--shm-size",
            "--tmpfs",
            "--ulimit",
            "--user",
            "--userns",
            "--volume",
            "--workdir",
        ],
    };
}
