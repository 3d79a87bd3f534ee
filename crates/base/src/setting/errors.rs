//! Why parameters are refused: the same for all whose settings have ranges, parts with errors of their own, and
//! conflicts of their own.

/// Declares the error of some parameters. `from` has the parts with errors of their own: their messages and subjects
/// are passed on. After `or` follow other reasons, as variants with `thiserror`'s message, and after `at` the
/// [`Subject`](crate::subject::Subject) of each of these, as arms of a `match`. A setting that is out of its range is
/// always a reason.
#[macro_export]
macro_rules! errors {
    (
        $(#[$about:meta])*
        pub enum $name:ident from {
            $($(#[$doc:meta])* $part:ident($error:ty),)*
        } $(or {
            $($own:tt)*
        } at {
            $($subject:tt)*
        })?
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        pub enum $name {
            /// A setting is out of its range.
            #[error(transparent)]
            Range(#[from] $crate::setting::OutOfRange),
            $(
                $(#[$doc])*
                #[error(transparent)]
                $part(#[from] $error),
            )*
            $($($own)*)?
        }

        impl $name {
            /// The subject of the error.
            pub fn subject(&self) -> $crate::subject::Subject<'_> {
                match self {
                    Self::Range(error) => error.subject(),
                    $(Self::$part(error) => error.subject(),)*
                    $($($subject)*)?
                }
            }
        }
    };
}
pub use errors;
