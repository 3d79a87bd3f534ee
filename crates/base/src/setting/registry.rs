//! A registry: the kinds of one thing, each with settings of its own. Readers, schemas, lock files, lists and messages
//! are loops over it, so a new kind is one line.

/// An entry of a registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name of the kind in a scenario.
    pub name: &'static str,
    /// The name of its settings in the schema.
    pub schema: &'static str,
    /// What it is, for lists and the description of its key.
    pub summary: &'static str,
}

/// Declares a registry: an enum with a variant for each kind, which holds the settings of the kind, then its name in a
/// scenario and its summary. The enum dereferences to the trait after its name, which each of the settings implements:
/// `Settings` or a trait that requires it.
#[macro_export]
macro_rules! registry {
    (
        $(#[$meta:meta])*
        pub enum $type:ident: $trait:path {
            $($(#[$doc:meta])* $kind:ident($settings:ty) = $name:expr, $summary:expr;)+
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])* $kind($settings),)+
        }

        impl $type {
            /// Every kind.
            pub const REGISTRY: &'static [$crate::setting::Entry] = &[$($crate::setting::Entry {
                name: $name,
                schema: stringify!($kind),
                summary: $summary,
            },)+];

            /// The kind of that name before any setting is given: see `Settings::blank`.
            pub fn blank(name: &str) -> Option<Self> {
                $(if name == $name {
                    return Some(Self::$kind($crate::setting::Settings::blank()));
                })+
                None
            }

            /// The name of the kind in a scenario.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$kind(_) => $name,)+ }
            }

            /// Its settings.
            pub fn as_settings(&self) -> &dyn $crate::setting::Settings {
                match self { $(Self::$kind(settings) => settings,)+ }
            }

            /// Its settings, to be changed.
            pub fn as_settings_mut(&mut self) -> &mut dyn $crate::setting::Settings {
                match self { $(Self::$kind(settings) => settings,)+ }
            }
        }

        impl core::ops::Deref for $type {
            type Target = dyn $trait;

            fn deref(&self) -> &(dyn $trait + 'static) {
                match self { $(Self::$kind(settings) => settings,)+ }
            }
        }

        impl core::ops::DerefMut for $type {
            fn deref_mut(&mut self) -> &mut (dyn $trait + 'static) {
                match self { $(Self::$kind(settings) => settings,)+ }
            }
        }
    };
}
pub use registry;
