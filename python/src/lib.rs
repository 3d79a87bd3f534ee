//! `suimon._suimon`: the library as Python's package calls it. What people call, with its types and what it is, is
//! Python's part, in `python/suimon`; here is what that needs of the library, and nothing else.

mod compare;
mod error;
mod experiment;
mod pack;
mod steering;
mod stored;
mod sweep;
mod table;
mod to_toml;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _suimon {
    use std::panic;

    use pyo3::prelude::*;

    /// Makes now what is made once: a process that is forked while another thread makes it would hang on that
    /// thread, which it does not have. A decoder's panic is its file's error, and is reported as that alone.
    #[pymodule_init]
    fn prepare(module: &Bound<'_, PyModule>) -> PyResult<()> {
        scenario::schema();
        crate::error::prepare(module.py())?;
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if mpi_trace::guarded_file().is_none() {
                usual(info);
            }
        }));
        Ok(())
    }

    #[pymodule_export]
    use crate::compare::{Comparison, compare};
    #[pymodule_export]
    use crate::experiment::{Ended, Experiment};
    #[pymodule_export]
    use crate::pack::{pack, unpack};
    #[pymodule_export]
    use crate::stored::{Stored, measured, nearest, write_report};
    #[pymodule_export]
    use crate::sweep::{OpenSweep, SweepEnded, mean_interval, value_label};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::to_toml::to_toml;

    /// The version of Suimon.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    /// Which build of that version: equal wherever the same sources are compiled.
    #[pymodule_export]
    const BUILD: &str = experiment::BUILD;
}
