//! The temporary folders for files of a command's ranks. The next command removes folders left by a killed one.

use std::env;

use record::folder::TemporaryFolder;

use crate::error::Error;

/// The prefix of their names.
const PREFIX: &str = "suimon-mpi-";

/// Creates such a folder.
///
/// # Errors
/// If there is no room for temporary files.
pub(crate) fn among_temporary() -> Result<TemporaryFolder, Error> {
    let place = env::temp_dir();
    TemporaryFolder::new_in(&place, PREFIX).map_err(Error::io(&place))
}
