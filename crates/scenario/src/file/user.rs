//! The user of a program.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::plan;

/// User of a program.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum User {
    /// A user without privileges.
    Nobody,
    /// The user that runs the lab.
    Root,
}

impl From<User> for plan::User {
    fn from(user: User) -> Self {
        match user {
            User::Nobody => Self::Nobody,
            User::Root => Self::Root,
        }
    }
}
