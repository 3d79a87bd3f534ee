//! Messages over a channel.

use std::io::{Read, Write};

use crate::channel::lost;
use crate::error::Error;
use crate::message::{HEADER, Message};

/// Reads the next message.
///
/// # Errors
/// If the connection is lost, or what comes is not a message.
pub(crate) fn read(from: &mut impl Read) -> Result<Message, Error> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header).map_err(lost)?;
    read_body(from, header)
}

/// Reads the next message; `None` if the peer closed the connection between two messages.
pub(crate) fn read_or_end(from: &mut impl Read) -> Result<Option<Message>, Error> {
    let mut header = [0; HEADER];
    loop {
        return match from.read(&mut header[..1]) {
            Ok(0) => Ok(None),
            Ok(_) => {
                from.read_exact(&mut header[1..]).map_err(lost)?;
                read_body(from, header).map(Some)
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => Err(lost(error)),
        };
    }
}

fn read_body(from: &mut impl Read, header: [u8; HEADER]) -> Result<Message, Error> {
    let (kind, length) = Message::header(header)?;
    let mut body = vec![0; length];
    from.read_exact(&mut body).map_err(lost)?;
    Ok(Message::decode(kind, &body)?)
}

/// Writes a message at once.
pub(crate) fn send(to: &mut impl Write, message: &Message) -> Result<(), Error> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    to.write_all(&bytes).and_then(|()| to.flush()).map_err(lost)
}
