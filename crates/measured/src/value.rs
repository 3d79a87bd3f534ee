//! Values of quantities by their paths.

use crate::Named;

/// A measured value, in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Count(u64),
    /// Any other number.
    Real(f64),
    /// Whether something holds: 1 if it does.
    Held(bool),
}

impl Value {
    /// The value as a number.
    pub const fn number(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Real(number) => number,
            Self::Held(held) => held as u8 as f64,
        }
    }
}

/// A part of the summary. Each of its numbers has a path.
pub trait Measured {
    /// The value at a path below it; `None` if there is none, or if nothing was measured.
    fn value(&self, path: &str) -> Option<Value>;
}

impl Measured for u64 {
    fn value(&self, path: &str) -> Option<Value> {
        path.is_empty().then_some(Value::Count(*self))
    }
}

impl Measured for u32 {
    fn value(&self, path: &str) -> Option<Value> {
        u64::from(*self).value(path)
    }
}

impl Measured for bool {
    fn value(&self, path: &str) -> Option<Value> {
        path.is_empty().then_some(Value::Held(*self))
    }
}

/// A text has no value.
impl Measured for String {
    fn value(&self, _: &str) -> Option<Value> {
        None
    }
}

impl Measured for f64 {
    fn value(&self, path: &str) -> Option<Value> {
        path.is_empty().then_some(Value::Real(*self))
    }
}

impl<T: Measured> Measured for Option<T> {
    fn value(&self, path: &str) -> Option<Value> {
        self.as_ref()?.value(path)
    }
}

/// A list without names has no paths.
impl<T> Measured for Vec<T> {
    fn value(&self, _: &str) -> Option<Value> {
        None
    }
}

/// The names may contain dots.
impl<T: Measured> Measured for Named<T> {
    fn value(&self, path: &str) -> Option<Value> {
        self.0.iter().find_map(|(name, value)| {
            let rest = path.strip_prefix(name.as_str())?;
            value.value(rest.strip_prefix('.').or_else(|| rest.is_empty().then_some(""))?)
        })
    }
}
