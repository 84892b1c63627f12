//! The channels of messages between programs. A message may get lost, so nothing depends on one.

/// A channel of a prefix: `<prefix>:ext:<name>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Jobs wait in a queue; the message is its name.
    Sched,
    /// A job has finished: `<queue>:<job id>`.
    Chainc,
    /// A job was taken away from its worker, which had stopped renewing its lock: `<queue>:<job id>`.
    Owls,
}

impl Channel {
    pub const ALL: [Channel; 3] = [Channel::Sched, Channel::Chainc, Channel::Owls];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Channel::Sched => "sched",
            Channel::Chainc => "chainc",
            Channel::Owls => "owls",
        }
    }

    /// The channel of this prefix.
    #[must_use]
    pub fn of(self, prefix: &str) -> String {
        format!("{prefix}:ext:{}", self.name())
    }
}
