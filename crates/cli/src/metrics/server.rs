//! A server of HTTP for a page of metrics.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::failure::Failure;

/// The time that a client has for its request, and for reading the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest request that is read.
const REQUEST_MAX: usize = 8 << 10;

/// Listens at `address`, given by `option`. Returns the address with its port too.
pub(crate) fn listen(
    address: SocketAddr,
    option: &str,
) -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = TcpListener::bind(address).map_err(|error| {
        let help = format!("choose another address with {option}");
        Failure::usage(format!("listen at {address}: {error}"), help)
    })?;
    let address = listener.local_addr().unwrap_or(address);
    Ok((listener, address))
}

/// Answers requests for /metrics, one after the other, for as long as the process runs. `text` returns the page, or why
/// there is none.
pub(crate) fn serve(listener: &TcpListener, mut text: impl FnMut() -> Result<String, String>) {
    for client in listener.incoming() {
        // A client that goes away does not matter to the others.
        let _ = client.and_then(|client| answer(client, &mut text));
    }
}

fn answer(
    mut client: TcpStream,
    text: &mut impl FnMut() -> Result<String, String>,
) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_MAX {
        match client.read(&mut part)? {
            0 => return Ok(()),
            count => request.extend(&part[..count]),
        }
    }
    let asked = [b"GET /metrics ".as_slice(), b"GET /metrics?"];
    let (status, body) = match asked.iter().any(|start| request.starts_with(start)) {
        false => ("404 Not Found", "the metrics are at /metrics\n".to_owned()),
        true => match text() {
            Ok(text) => ("200 OK", text),
            Err(why) => ("500 Internal Server Error", format!("{why}\n")),
        },
    };
    let length = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: \
         {length}\r\nConnection: close\r\n\r\n{body}"
    )
}
