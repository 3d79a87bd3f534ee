//! The declaration of a part of the summary: its fields, how each is computed, and the quantities that they are.

/// Declares a struct of the summary, in the order of `summary.json`.
///
/// A field has its documentation, its type, and after `=` its value from the arguments of `of`, or after `=>` its value
/// from the other fields. If it is a quantity, then follow its kind, its aggregate, its better direction and its label
/// in headings; `what` and the definition in the reference where that is not the documentation; and the rest of its
/// declaration as methods of [`Quantity`](crate::Quantity). With `and`, two values of the struct can be merged: each
/// field by its aggregate, a mean with its weight, the field in parentheses. A field with the aggregate `None` is then
/// derived from the others. A name after the path is the [`Part`](crate::Part) of the entity that the quantities belong
/// to. A field whose entries have names that are not known in advance is one quantity for each, declared after `[each]`.
macro_rules! measured {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident at $at:literal $(: $part:ident $(($part_kind:ident))?)? $($and:ident)?;
        $(#[$of:meta])*
        of($($argument:ident: $given:ty),*) $(let $local:pat_param = $init:expr;)* {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])*
                $field:ident: $type:ty $(= $value:expr)? $(=> |$all:ident| $derived:expr)?
                $(, [each] $each_kind:ident $each_aggregate:ident $each_better:ident $each:literal)?
                $(,
                    $kind:ident $aggregate:ident $(($weight:ident))? $better:ident $label:literal
                    $(what $what:literal)?
                    $(. $method:ident($($setting:expr),*))*
                )?;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(
            Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])*
                pub $field: $type,
            )*
        }

        impl $name {
            /// The part of the entity, if not every entity has it.
            pub const PART: Option<$crate::Part> = $crate::declare::measured!(
                @part $($part $($part_kind)?)?
            );

            /// The quantity of each field that is one, in the order of the fields.
            pub const QUANTITIES: &[&[$crate::Quantity]] = &[$(
                $crate::declare::measured!(@quantity $at $field [$($doc)*] $([
                    $kind $aggregate $better $label [$($what)?] $(.$method($($setting),*))*
                ])?),
            )*];

            /// The quantity of each entry of the fields with names that are not known in advance, by the field.
            pub const EACH: &[(&str, $crate::Quantity)] = &[$($((
                stringify!($field),
                $crate::Quantity::new(
                    "NAME",
                    $crate::Kind::$each_kind,
                    $crate::Aggregate::$each_aggregate,
                    $crate::Better::$each_better,
                )
                .what($each),
            ),)?)*];

            $(#[$of])*
            pub fn of($($argument: $given),*) -> Self {
                $(let $local = $init;)*
                Self { $($field: $crate::declare::measured!(@or $($value)?),)* }.derived()
            }

            #[allow(unused_mut, clippy::missing_const_for_fn)]
            fn derived(mut self) -> Self {
                $($(
                    self.$field = {
                        let $all = &self;
                        $derived
                    };
                )?)*
                self
            }
        }

        impl $crate::Measured for $name {
            fn value(&self, path: &str) -> Option<$crate::Value> {
                let (field, below) = path.split_once('.').unwrap_or((path, ""));
                match field {
                    $(stringify!($field) => $crate::Measured::value(&self.$field, below),)*
                    _ => None$(.or_else(|| {
                        $crate::declare::measured!(@flat [$($($serde)*)?] &self.$field, path)
                    }))*,
                }
            }
        }

        $crate::declare::measured!(
            @merge [$($and)?] $name { $($field [$($aggregate $($weight)?)?])* }
        );
    };
    (@flat [flatten] $value:expr, $path:ident) => { $crate::Measured::value($value, $path) };
    (@flat [$($serde:tt)*] $value:expr, $path:ident) => { None };
    (@part) => { None };
    (@part $part:ident) => { Some($crate::Part::$part) };
    (@part Results $counts:ident) => {
        Some($crate::Part::Results {
            counts: std::any::TypeId::of::<$counts>(),
            lacking: <$counts as applications::counts::Counts>::LACKING,
            title: <$counts as applications::counts::Counts>::TITLE,
        })
    };
    (@or) => { Default::default() };
    (@or $value:expr) => { $value };
    (@quantity $at:literal $field:ident [$($doc:literal)*]) => { &[] };
    (@quantity $at:literal $field:ident [$($doc:literal)*] [
        $kind:ident $aggregate:ident $better:ident $label:literal [$($what:literal)?]
        $(. $method:ident($($setting:expr),*))*
    ]) => {
        &[$crate::Quantity::new(
            concat!($at, stringify!($field)),
            $crate::Kind::$kind,
            $crate::Aggregate::$aggregate,
            $crate::Better::$better,
        )
        .label($label)
        .part(Self::PART)
        .what($crate::declare::measured!(@what [$($what)?] $($doc)*))
        $(.$method($($setting),*))*]
    };
    (@what [] $($doc:literal)*) => { concat!($($doc),*).trim_ascii() };
    (@what [$what:literal] $($doc:literal)*) => { $what };
    (@merge [] $($rest:tt)*) => {};
    (@merge [and] $name:ident { $($field:ident [$($aggregate:ident $($weight:ident)?)?])* }) => {
        impl $name {
            /// Merges two of them, each quantity by its aggregate.
            #[must_use]
            pub fn and(self, other: Self) -> Self {
                let (a, b) = (&self, &other);
                Self {
                    $($field: $crate::declare::measured!(
                        @merged a b $field $($aggregate $($weight)?)?
                    ),)*
                }
                .derived()
            }
        }
    };
    (@merged $a:ident $b:ident $field:ident Sum) => { $a.$field + $b.$field };
    (@merged $a:ident $b:ident $field:ident Max) => { $a.$field.max($b.$field) };
    (@merged $a:ident $b:ident $field:ident Mean $weight:ident) => {
        $crate::mean::Mean::of(($a.$field, $a.$weight), ($b.$field, $b.$weight))
    };
    // The field is derived from the others: `=>`.
    (@merged $a:ident $b:ident $field:ident None) => { Default::default() };
}

pub(crate) use measured;
