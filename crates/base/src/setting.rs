//! The settings of every module, described by its parameters. The scenario parser, its schema, the lock file
//! and the catalogue all read these tables, so a new discipline needs no change elsewhere.

mod errors;
mod field;
mod queue;
mod range;
mod registry;
mod table;
mod value;

pub use errors::errors;
pub use field::{Bytes32, CodePoint, Field, Frequency, RateLimit};
pub use queue::Queue;
pub use range::{Measure, OutOfRange, Range};
pub use registry::{Entry, registry};
pub use table::{Classes, Setting, Settings, in_range};
pub use value::{Kind, Value};

/// Wraps the definition of a parameter struct and turns its fields into settings. Each setting has the
/// documentation of its field; its range from `#[range(1..=16)]` before the field, in the field's own type;
/// and its type in a file from `#[like(Bytes32)]`, if the field's type does not define it. Optional lines
/// before the struct: `besides: a, b;` lists fields that are not settings, `required: a, b;` lists settings
/// without a default, `classes: Class;` declares the fields `classes` (of that struct, which has `name` and
/// `parent`) and `filters`, and `blank: value;` gives the start value when only some settings are given, if
/// it is not the default. A crate that uses the macro has `extern crate alloc`.
#[macro_export]
macro_rules! settings {
    (@field $kind:ty) => { $kind };
    (@field $kind:ty, $like:ty) => { $like };
    (@range [$kind:ty] [] []) => { <$kind as $crate::setting::Field>::RANGE };
    (@range [$kind:ty] [] [$range:expr]) => {
        <$kind as $crate::setting::Field>::RANGE.within($crate::setting::Range::of::<
            <$kind as $crate::setting::Field>::Measure,
        >($range))
    };
    (@range [$kind:ty] [$like:ty] [$($range:expr)?]) => {
        $crate::settings!(@range [$like] [] [$($range)?])
    };
    (@get $kind:ty, $field:expr) => { $crate::setting::Field::to_value(&$field) };
    (@get $kind:ty, $field:expr, $like:ty) => {
        $crate::setting::Field::to_value(&<$like>::from($field))
    };
    (
        $(besides: $($beside:ident),+;)?
        $(required: $($needed:ident),+;)?
        $(classes: $class:ident;)?
        $(blank: $blank:expr;)?
        $(#[doc = $about:literal])+
        #[derive($($derive:tt)+)]
        pub struct $type:ident {
            $($(#[doc = $doc:literal])+ $(#[range($range:expr)])?
            $(#[like($like:ty)])? pub $field:ident: $kind:ty,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive($($derive)+)]
        pub struct $type {
            $($(#[doc = $doc])+ pub $field: $kind,)+
        }

        impl $crate::setting::Settings for $type {
            fn settings(&self) -> alloc::vec::Vec<$crate::setting::Setting> {
                const NEEDED: &[&str] = &[$($(stringify!($needed)),+)?];
                const BESIDES: &[&str] = &[$($(stringify!($beside)),+)?];
                let mut settings = alloc::vec::Vec::new();
                $(
                    let name = stringify!($field);
                    // A class's name and parent are its place in the tree, not settings.
                    let place = name == "name" || name == "parent" || BESIDES.contains(&name);
                    let kind =
                        <$crate::settings!(@field $kind $(, $like)?) as $crate::setting::Field>::KIND;
                    if let Some(kind) = kind.filter(|_| !place) {
                        let (required, doc) = (NEEDED.contains(&name), concat!($($doc, "\n"),+));
                        let range = $crate::settings!(@range [$kind] [$($like)?] [$($range)?]);
                        let setting = $crate::setting::Setting { name, kind, required, range, doc };
                        settings.push(setting);
                    }
                )+
                settings
            }

            fn get(&self, name: &str) -> Option<$crate::setting::Value> {
                match name {
                    $(stringify!($field) => {
                        $crate::settings!(@get $kind, self.$field $(, $like)?)
                    })+
                    _ => None,
                }
            }

            fn set(&mut self, name: &str, value: $crate::setting::Value) -> bool {
                match name {
                    $(stringify!($field) => {
                        type Plain = $crate::settings!(@field $kind $(, $like)?);
                        match <Plain as $crate::setting::Field>::from_value(value) {
                            Some(value) => self.$field = value.into(),
                            None => return false,
                        }
                    })+
                    _ => return false,
                }
                true
            }

            fn doc(&self) -> &'static str {
                concat!($($about, "\n"),+)
            }

            $(
                fn blank() -> Self {
                    $blank
                }
            )?

            $(
                fn classes(&self) -> Option<&dyn $crate::setting::Classes> {
                    let _: &[$class] = &self.classes;
                    Some(self)
                }
                fn classes_mut(&mut self) -> Option<&mut dyn $crate::setting::Classes> {
                    Some(self)
                }
            )?
        }

        $(
            impl $crate::setting::Classes for $type {
                fn fresh(&self) -> alloc::boxed::Box<dyn $crate::setting::Settings> {
                    alloc::boxed::Box::new($class::default())
                }
                fn add(
                    &mut self,
                    name: &str,
                    parent: Option<&str>,
                ) -> &mut dyn $crate::setting::Settings {
                    let (name, parent) = (name.into(), parent.map(Into::into));
                    let last = self.classes.len();
                    self.classes.push($class { name, parent, ..Default::default() });
                    &mut self.classes[last]
                }
                fn count(&self) -> usize {
                    self.classes.len()
                }
                fn class(
                    &self,
                    index: usize,
                ) -> (&str, Option<&str>, &dyn $crate::setting::Settings) {
                    let class = &self.classes[index];
                    (&class.name, class.parent.as_deref(), class)
                }
                fn filters(&self) -> &[$crate::filter::Rule] {
                    &self.filters
                }
                fn filters_mut(&mut self) -> &mut alloc::vec::Vec<$crate::filter::Rule> {
                    &mut self.filters
                }
            }
        )?
    };
}
pub use settings;

/// Wraps the definition of an enum without fields: a setting with a choice of words.
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$doc:meta])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])+ $variant,)+
        }

        impl $crate::setting::Field for $type {
            const KIND: Option<$crate::setting::Kind> =
                Some($crate::setting::Kind::Choice(&[$($word),+]));
            type Measure = ();
            fn to_value(&self) -> Option<$crate::setting::Value> {
                Some($crate::setting::Value::Choice(match self {
                    $(Self::$variant => $word,)+
                }))
            }
            fn from_value(value: $crate::setting::Value) -> Option<Self> {
                match value {
                    $($crate::setting::Value::Choice($word) => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
pub use choice;
