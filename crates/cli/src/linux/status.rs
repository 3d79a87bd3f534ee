//! `suimon linux status`: the guest kernel, and what a build of it lacks.

use experiment::doctor::guest_kernel::BUILD;
use guest::needs::{self, Missing};
use guest::{Kernel, built, recipe};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::table::Table;

/// Exits with 3 if no kernel is built.
pub(super) fn run(json: bool) -> Result<Exit, Failure> {
    let kernel = built::newest()?;
    let missing = needs::missing(None);
    if json {
        output::print_json(&document(kernel.as_ref(), &missing)?)?;
    } else {
        output::print(&text(kernel.as_ref(), &missing)?)?;
    }
    Ok(if kernel.is_some() { Exit::Fine } else { Exit::Lacking })
}

/// The status as JSON: the kernel, and what a build lacks.
pub(super) fn document(kernel: Option<&Kernel>, missing: &[Missing]) -> Result<Value, Failure> {
    let as_json = |it: &Missing| json!({ "what": it.what, "package": it.packages });
    Ok(json!({
        "built": kernel.is_some(),
        "version": kernel.map(|kernel| &kernel.version),
        "path": kernel.map(|kernel| &kernel.binary),
        "headers": kernel.map(Kernel::headers),
        "module": kernel.map(Kernel::module),
        "module_compiled": kernel.is_some_and(|kernel| kernel.module().exists()),
        "recipe": recipe::hash(),
        "folder": built::folder()?,
        "missing": missing.iter().map(as_json).collect::<Vec<_>>(),
        "command": command(kernel, missing),
    }))
}

/// The next command to type; none if a kernel is built.
fn command(kernel: Option<&Kernel>, missing: &[Missing]) -> Option<String> {
    let next = || if missing.is_empty() { BUILD.to_owned() } else { needs::command(missing) };
    kernel.is_none().then(next)
}

fn text(kernel: Option<&Kernel>, missing: &[Missing]) -> Result<String, Failure> {
    let mut table = Table::new(&["", ""]);
    table.row(["series".into(), recipe::SERIES.into()]);
    table.row(["recipe".into(), recipe::hash().into()]);
    table.row(["folder".into(), built::folder()?.display().to_string().into()]);
    if let Some(kernel) = kernel {
        table.row(["built".into(), kernel.version.as_str().into()]);
        table.row(["program".into(), kernel.binary.display().to_string().into()]);
        table.row(["headers".into(), kernel.headers().display().to_string().into()]);
        let module = Some(kernel.module()).filter(|path| path.exists());
        let module =
            module.map_or("not compiled: make module".into(), |it| it.display().to_string());
        table.row(["module".into(), module.into()]);
    } else {
        table.row(["built".into(), "no".into()]);
    }
    let lacks: Vec<&str> = missing.iter().map(|it| it.what).collect();
    if !lacks.is_empty() {
        table.row(["missing".into(), lacks.join(", ").into()]);
    }
    let table = table.render();
    Ok(command(kernel, missing)
        .map_or(table.clone(), |next| format!("{table}\nnext, type:\n  {next}\n")))
}
