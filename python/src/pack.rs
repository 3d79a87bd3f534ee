//! Run folders as one Arrow IPC stream: a row for each file, with the run's name, the file's and its contents. A batch
//! of runs is then one object to send or to store.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, LargeBinaryArray, RecordBatch, StringArray};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The runs of these names in `folder`, with all their files.
#[pyfunction]
pub(crate) fn pack<'py>(
    py: Python<'py>,
    folder: PathBuf,
    names: Vec<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let packed = py.detach(|| packed(&folder, &names)).map_err(failed)?;
    Ok(PyBytes::new(py, &packed))
}

/// Unpacks runs into `folder`, each completely or not at all, replacing an earlier one of its name. Returns their names.
#[pyfunction]
pub(crate) fn unpack(py: Python<'_>, packed: Vec<u8>, folder: PathBuf) -> PyResult<Vec<String>> {
    py.detach(|| unpacked(&packed, &folder)).map_err(failed)
}

fn failed(error: ArrowError) -> PyErr {
    match error {
        ArrowError::IoError(message, _) => PyOSError::new_err(message),
        other => PyValueError::new_err(other.to_string()),
    }
}

fn packed(folder: &Path, names: &[String]) -> Result<Vec<u8>, ArrowError> {
    let mut rows: Vec<(&str, String, Vec<u8>)> = Vec::new();
    for name in names {
        let run = folder.join(name);
        for file in files(&run)? {
            let inner = file.strip_prefix(&run).unwrap_or(&file).display().to_string();
            rows.push((name, inner, fs::read(&file)?));
        }
    }
    let columns: [(&str, ArrayRef); 3] = [
        ("run", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0)))),
        ("file", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.1)))),
        ("content", Arc::new(LargeBinaryArray::from_iter_values(rows.iter().map(|row| &row.2)))),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// Returns every file below a folder, in order of name, without links and sockets.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            found.extend(files(&entry.path())?);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// The subdirectory for incomplete runs.
const PARTIAL: &str = "sweep.partial";

fn unpacked(packed: &[u8], folder: &Path) -> Result<Vec<String>, ArrowError> {
    let mut names: Vec<String> = Vec::new();
    let unfinished = folder.join(PARTIAL);
    for batch in StreamReader::try_new(packed, None)? {
        let batch = batch?;
        let (runs, files, contents) = columns(&batch).ok_or_else(|| malformed("other columns"))?;
        for row in 0..batch.num_rows() {
            let (run, file) = (Path::new(runs.value(row)), Path::new(files.value(row)));
            if !is_inner(run) || !is_inner(file) {
                return Err(malformed("a path that leads out of it"));
            }
            let partial = unfinished.join(run);
            if names.last().is_none_or(|name| Path::new(name) != run) {
                clear(&partial)?;
                names.push(run.display().to_string());
            }
            let place = partial.join(file);
            fs::create_dir_all(place.parent().unwrap_or(&partial))?;
            fs::write(place, contents.value(row))?;
        }
    }
    for name in &names {
        let place = folder.join(name);
        clear(&place)?;
        fs::rename(unfinished.join(name), place)?;
    }
    // Fails if it contains another batch, too.
    let _ = fs::remove_dir(unfinished);
    Ok(names)
}

fn columns(batch: &RecordBatch) -> Option<(&StringArray, &StringArray, &LargeBinaryArray)> {
    let column = |name| batch.column_by_name(name).map(|array| array.as_any());
    Some((
        column("run")?.downcast_ref()?,
        column("file")?.downcast_ref()?,
        column("content")?.downcast_ref()?,
    ))
}

fn malformed(why: &str) -> ArrowError {
    ArrowError::SchemaError(format!("not packed runs: {why}"))
}

/// Returns whether a relative path stays in its folder.
fn is_inner(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
