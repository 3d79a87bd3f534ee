//! The parameters of an algorithm: its C file lists them (`CC_PARAMETERS` of `cc.h`), and scenarios, lock file,
//! schema and the kernel's loader read them here.

use crate::{Algorithm, Sock};

/// The maximum number of parameters of an algorithm.
pub const PARAMETERS_MAX: usize = 8;

/// An integer parameter of an algorithm: `struct cc_parameter` of `cc_native.h`, field for field.
#[derive(Debug)]
#[repr(C)]
pub struct Parameter {
    name: [u8; 16],
    doc: [u8; 176],
    initial: u32,
    least: u32,
    greatest: u32,
}

impl Parameter {
    const NONE: Self = Self { name: [0; 16], doc: [0; 176], initial: 0, least: 0, greatest: 0 };

    /// Its name, as in scenarios.
    pub fn name(&self) -> &str {
        text(&self.name)
    }

    /// Its description, with its unit: a sentence or two.
    pub fn doc(&self) -> &str {
        text(&self.doc)
    }

    /// The default value.
    pub const fn default(&self) -> u32 {
        self.initial
    }

    /// The range of its values.
    pub const fn range(&self) -> core::ops::RangeInclusive<u32> {
        self.least..=self.greatest
    }
}

/// A C string.
fn text(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    core::str::from_utf8(&bytes[..end]).unwrap_or_default()
}

/// The parameters of an algorithm: `struct cc_parameters` of `cc_native.h`, field for field.
#[derive(Debug)]
#[repr(C)]
pub struct Parameters {
    count: u32,
    list: [Parameter; PARAMETERS_MAX],
}

impl Parameters {
    /// The parameters of an algorithm without any.
    pub const NONE: Self = Self { count: 0, list: [Parameter::NONE; PARAMETERS_MAX] };

    pub(crate) fn list(&self) -> &[Parameter] {
        &self.list[..self.count as usize]
    }

    pub(crate) fn defaults(&self) -> [u32; PARAMETERS_MAX] {
        self.list.each_ref().map(|parameter| parameter.initial)
    }
}

/// Writes the values to the start of the private state, in the layout of the fields in the C source.
pub(crate) fn preset(values: &[u32; PARAMETERS_MAX], sock: &mut Sock) {
    for (word, [first, second]) in sock.private.iter_mut().zip(values.as_chunks().0) {
        let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
        *word = u64::from_ne_bytes([a, b, c, d, e, f, g, h]);
    }
}

/// The refusal of a parameter value or name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The algorithm has no parameter of that name.
    Unknown,
    /// The value is outside this range.
    Range(core::ops::RangeInclusive<u32>),
}

/// An algorithm with its parameter values.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    algorithm: &'static Algorithm,
    values: [u32; PARAMETERS_MAX],
}

/// Every parameter at its default.
impl From<&'static Algorithm> for Config {
    fn from(algorithm: &'static Algorithm) -> Self {
        Self { algorithm, values: algorithm.hooks().parameters.defaults() }
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.algorithm.name() == other.algorithm.name() && self.values == other.values
    }
}

impl Eq for Config {}

impl Config {
    /// The algorithm.
    #[inline]
    pub const fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// Each parameter with its value.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static Parameter, u32)> + use<> {
        self.algorithm.parameters().iter().zip(self.values)
    }

    /// The values in the order of the parameters, followed by zeros: the content of the section `.rodata.values` of
    /// the kernel's object.
    pub const fn values(&self) -> &[u32; PARAMETERS_MAX] {
        &self.values
    }

    /// Sets the named parameter.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn set(&mut self, name: &str, value: u32) -> Result<(), Refused> {
        let mut parameters = self.algorithm.parameters().iter().zip(&mut self.values);
        let (parameter, place) =
            parameters.find(|(parameter, _)| parameter.name() == name).ok_or(Refused::Unknown)?;
        if !parameter.range().contains(&value) {
            return Err(Refused::Range(parameter.range()));
        }
        *place = value;
        Ok(())
    }

    /// A connection was established: set up the private state.
    pub fn init(&self, sock: &mut Sock) {
        self.algorithm.init_with(&self.values, sock);
    }
}
