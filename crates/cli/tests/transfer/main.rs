//! `suimon send` and `suimon recv` as they are typed, killed, and filled up.

mod hostile;
mod killed;
#[path = "../typed/mod.rs"]
mod typed;
mod typed_at;
