//! `suimon send` and `suimon recv` as typed, killed, and with full disks.

mod hostile;
mod killed;
#[path = "../typed/mod.rs"]
mod typed;
mod typed_at;
