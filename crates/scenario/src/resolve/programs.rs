//! External programs: those of a host, and those that send in place of the built-in ones.

use std::net::IpAddr;

use base::header::Header;

use crate::command;
use crate::diagnostic::Problems;
use crate::file;
use crate::plan::Program;
use crate::value::Name;

/// A flow's program and its server, on hosts with these addresses.
pub(super) fn resolve(
    program: &Name,
    table: &file::Flow,
    [from, to]: [IpAddr; 2],
    header: &Header,
    problems: &mut Problems,
) -> Option<Program> {
    let port = header.ports.unwrap_or_default().destination;
    let known = [("from", from.to_string()), ("to", to.to_string()), ("port", port.to_string())];
    let client = command::resolve(program, &known, problems);
    let server = match &table.server {
        Some(line) => command::resolve(line, &known, problems).map(Some),
        None => Some(None),
    };
    let user = table.user.map(Into::into).unwrap_or_default();
    Some(Program { client: client?, server: server?, user })
}

/// Reports a user without a program, in the table of that name.
pub(super) fn check_user(
    name: &Name,
    user: Option<file::User>,
    has_program: bool,
    problems: &mut Problems,
) {
    if user.is_some() && !has_program {
        let message = format!("`{}` has `as` but no program", name.text);
        problems.push(&name.span, message, "add a program, or remove `as`");
    }
}

/// Reports a flow of a program with keys for built-in programs, and a server without a client.
pub(super) fn check(table: &file::Flow, problems: &mut Problems) {
    let Some(program) = &table.program else {
        if let Some(server) = &table.server {
            let help = "add the client: program = \"iperf3 -c {to} -p {port}\"";
            problems.push(&server.span, "a server without a program", help);
        }
        return;
    };
    let (marks, demand) = (table.marks(), table.demand());
    let bytes = [(demand.span_of("bytes").is_some(), "bytes")];
    let others = [
        (table.read.is_some(), "read"),
        (table.congestion.is_some(), "congestion"),
        (table.tcp.is_some(), "tcp"),
        (table.receiver_tcp.is_some(), "receiver_tcp"),
        (table.source_port.is_some(), "source_port"),
        (marks.span_of("dscp").is_some(), "dscp"),
        (marks.span_of("flow_label").is_some(), "flow_label"),
    ];
    let mut given = bytes.into_iter().chain(table.workloads().given()).chain(others);
    if let Some((_, key)) = given.find(|(given, _)| *given) {
        let message = format!(
            "`{key}` applies to built-in programs only, but this flow has its own `program`"
        );
        problems.push(&program.span, message, format!("remove {key}, or program"));
    }
}
