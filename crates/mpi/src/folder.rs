//! The folders of a command whose ranks write files, among temporary ones: the next command removes what a killed one left.

use std::env;

use record::folder::TemporaryFolder;

use crate::error::Error;

/// What their names begin with.
const PREFIX: &str = "suimon-mpi-";

/// A new one.
///
/// # Errors
/// If there is no room for temporary files.
pub(crate) fn among_temporary() -> Result<TemporaryFolder, Error> {
    let place = env::temp_dir();
    TemporaryFolder::new_in(&place, PREFIX).map_err(Error::io(&place))
}
