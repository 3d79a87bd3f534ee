//! A server of HTTP for a page of metrics.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base::Fault;
use record::meter::clock;

/// The time that a client has in all, for its request and for reading the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Clients at once; further ones are refused.
const CLIENTS_MAX: usize = 64;
/// The longest request that is read.
const REQUEST_MAX: usize = 8 << 10;

/// Listens at `address`, given by `option`. Returns the address with its port too.
///
/// # Errors
/// An address that is in use, or not of this machine.
pub fn listen(address: SocketAddr, option: &str) -> Result<(TcpListener, SocketAddr), Fault> {
    let listener = TcpListener::bind(address).map_err(|error| {
        let help = format!("choose another address with {option}");
        Fault::usage(format!("listen at {address}: {error}"), help)
    })?;
    let address = listener.local_addr().unwrap_or(address);
    Ok((listener, address))
}

/// Answers requests for /metrics for as long as the process runs, several at once. `text` returns the page, or why there
/// is none.
pub fn serve(listener: &TcpListener, text: impl FnMut() -> Result<String, String> + Send) {
    let (text, served) = (Mutex::new(text), AtomicUsize::new(0));
    thread::scope(|scope| {
        for client in listener.incoming() {
            let (text, served) = (&text, &served);
            let Ok(client) = client else { continue };
            if served.fetch_add(1, Ordering::Relaxed) < CLIENTS_MAX {
                let answered = move || {
                    // A client that goes away does not matter to the others.
                    let _ = answer(Client { stream: client, deadline: clock() + PATIENCE }, text);
                    served.fetch_sub(1, Ordering::Relaxed);
                };
                if thread::Builder::new().spawn_scoped(scope, answered).is_ok() {
                    continue;
                }
            }
            served.fetch_sub(1, Ordering::Relaxed);
        }
    });
}

/// A client, and when its time is over.
struct Client {
    stream: TcpStream,
    deadline: Instant,
}

impl Client {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.saturating_duration_since(clock()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Client {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(to)
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn answer(
    mut client: Client,
    text: &Mutex<impl FnMut() -> Result<String, String>>,
) -> io::Result<()> {
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
        true => {
            let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
            // Others were first.
            client.left()?;
            match text() {
                Ok(text) => ("200 OK", text),
                Err(why) => ("500 Internal Server Error", format!("{why}\n")),
            }
        }
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: \
         {length}\r\nConnection: close\r\n\r\n{body}"
    );
    client.write_all(answer.as_bytes())
}
