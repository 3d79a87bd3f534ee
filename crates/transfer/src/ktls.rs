//! TLS by the kernel, once this process has completed the handshake: the kernel encrypts what is written to the
//! socket, so that files go out by `sendfile` (Documentation/networking/tls.rst; Linux 5.11 for all three ciphers).

use std::io::{self, IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::sockopt::{TcpTlsRx, TcpTlsTx, TcpUlp, TlsCryptoInfo};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, TlsGetRecordType, recvmsg, setsockopt};
use rustls::{ConnectionTrafficSecrets, ExtractedSecrets};

/// An alert (RFC 8446, section 6).
const ALERT: u8 = 21;
/// The alert `close_notify`: a warning, and its number.
const CLOSE_NOTIFY: [u8; 2] = [1, 0];

/// Asks the kernel for TLS on this connection; without keys, data still goes out as before.
///
/// # Errors
/// If the kernel has no TLS.
pub(crate) fn ask(socket: &TcpStream) -> io::Result<()> {
    Ok(setsockopt(socket, TcpUlp::default(), b"tls")?)
}

/// Gives the kernel the keys of both directions.
///
/// # Errors
/// If it does not know the cipher. The connection is lost then.
pub(crate) fn hand_over(socket: &TcpStream, secrets: &ExtractedSecrets) -> io::Result<()> {
    setsockopt(socket, TcpTlsTx, &keys(&secrets.tx)?)?;
    Ok(setsockopt(socket, TcpTlsRx, &keys(&secrets.rx)?)?)
}

/// One direction's keys. The kernel takes a nonce in two parts, the first of four bytes ("salt").
fn keys((number, secrets): &(u64, ConnectionTrafficSecrets)) -> io::Result<TlsCryptoInfo> {
    const VERSION: u16 = libc::TLS_1_3_VERSION;
    let rec_seq = number.to_be_bytes();
    let of = |cipher_type| libc::tls_crypto_info { version: VERSION, cipher_type };
    let wrong = |_| io::Error::from(io::ErrorKind::InvalidData);
    Ok(match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => {
            TlsCryptoInfo::Aes128Gcm(libc::tls12_crypto_info_aes_gcm_128 {
                info: of(libc::TLS_CIPHER_AES_GCM_128),
                iv: iv.as_ref()[4..].try_into().map_err(wrong)?,
                key: key.as_ref().try_into().map_err(wrong)?,
                salt: iv.as_ref()[..4].try_into().map_err(wrong)?,
                rec_seq,
            })
        }
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => {
            TlsCryptoInfo::Aes256Gcm(libc::tls12_crypto_info_aes_gcm_256 {
                info: of(libc::TLS_CIPHER_AES_GCM_256),
                iv: iv.as_ref()[4..].try_into().map_err(wrong)?,
                key: key.as_ref().try_into().map_err(wrong)?,
                salt: iv.as_ref()[..4].try_into().map_err(wrong)?,
                rec_seq,
            })
        }
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            TlsCryptoInfo::Chacha20Poly1305(libc::tls12_crypto_info_chacha20_poly1305 {
                info: of(libc::TLS_CIPHER_CHACHA20_POLY1305),
                iv: iv.as_ref().try_into().map_err(wrong)?,
                key: key.as_ref().try_into().map_err(wrong)?,
                salt: [],
                rec_seq,
            })
        }
        _ => return Err(io::ErrorKind::Unsupported.into()),
    })
}

/// Reads data that the kernel has decrypted; returns 0 once the peer has closed its direction.
pub(crate) fn read(socket: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        let mut room = nix::cmsg_space!(u8);
        let mut into = [IoSliceMut::new(buffer)];
        let flags = MsgFlags::empty();
        let got = match recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(&mut room), flags) {
            Err(Errno::EINTR) => continue,
            got => got?,
        };
        let bytes = got.bytes;
        let kind = got.cmsgs()?.find_map(|message| match message {
            ControlMessageOwned::TlsGetRecordType(kind) => Some(kind),
            _ => None,
        });
        return match kind {
            None if bytes == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            None | Some(TlsGetRecordType::ApplicationData) => Ok(bytes),
            Some(TlsGetRecordType::Alert) if buffer.get(1) == Some(&CLOSE_NOTIFY[1]) => Ok(0),
            Some(TlsGetRecordType::Alert) => Err(io::ErrorKind::ConnectionAborted.into()),
            // New keys and tickets are never asked for.
            Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "a message of TLS itself")),
        };
    }
}

/// Sends `close_notify`.
pub(crate) fn close(socket: &TcpStream) -> io::Result<()> {
    const ROOM: usize = size_of::<libc::cmsghdr>() + size_of::<u64>();
    // A header of a control message has the alignment of a `u64`.
    let mut control = [0_u64; ROOM / size_of::<u64>()];
    let bytes = IoSlice::new(&CLOSE_NOTIFY);
    // SAFETY: zeros are valid for fields that are not set.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = std::ptr::from_ref(&bytes).cast_mut().cast();
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: the macro only computes a number.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(1) } as _;
    // SAFETY: `control` has room for a header and its data, and outlives the call; the kernel reads both, and
    // `bytes`, which has the layout of `iovec`.
    let sent = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_TLS;
        (*header).cmsg_type = libc::TLS_SET_RECORD_TYPE;
        (*header).cmsg_len = libc::CMSG_LEN(1) as _;
        libc::CMSG_DATA(header).write(ALERT);
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
