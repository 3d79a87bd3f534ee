//! Tables of the file with settings and other keys.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde_json::{Map, Value as Json};
use serde_spanned::Spanned;

use crate::diagnostic::Span;
use crate::value::Name;

/// A part that takes some keys of a table.
pub(crate) trait Keys: Default {
    /// What applies in such a table where a key is not given, for descriptions of keys that are in several tables.
    const USUAL: &str = "none";

    /// Whether it takes the key of that name.
    fn takes(name: &str) -> bool;

    /// Takes a key with its value, the next one of `map`.
    fn take<'de, A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error>;

    /// The schema name of a table with these keys, and its description unless its other keys have one.
    fn about() -> (&'static str, String) {
        unreachable!("the first keys of a table have its name")
    }

    /// Sets the place of the table.
    fn place(&mut self, _: &Span) {}

    /// The schema of these keys in a table with that [`Self::USUAL`].
    fn properties(generator: &mut SchemaGenerator, usual: &str) -> Map<String, Json>;

    /// The required keys.
    fn required() -> Vec<&'static str> {
        Vec::new()
    }
}

/// Declares a struct of several kinds of keys in one table, which has the name of the first. After `usual`: see
/// [`Keys::USUAL`].
macro_rules! parts {
    (
        $(#[$doc:meta])*
        $vis:vis struct $name:ident $(usual $usual:literal)? {
            $($(#[$part_doc:meta])* $part_vis:vis $part:ident: $kind:ty,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        $vis struct $name {
            $($(#[$part_doc])* $part_vis $part: $kind,)+
        }

        impl $crate::setting::Keys for $name {
            $(const USUAL: &str = $usual;)?

            fn takes(name: &str) -> bool {
                $(<$kind>::takes(name))||+
            }

            fn take<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                key: $crate::value::Name,
                map: &mut A,
            ) -> Result<(), A::Error> {
                $(if <$kind>::takes(&key.text) {
                    return self.$part.take(key, map);
                })+
                Ok(())
            }

            fn about() -> (&'static str, String) {
                [$(<$kind as $crate::setting::Keys>::about),+][0]()
            }

            fn place(&mut self, span: &$crate::diagnostic::Span) {
                $(self.$part.place(span);)+
            }

            fn properties(
                generator: &mut schemars::SchemaGenerator,
                usual: &str,
            ) -> serde_json::Map<String, serde_json::Value> {
                let mut properties = serde_json::Map::new();
                $(properties.extend(<$kind>::properties(generator, usual));)+
                properties
            }

            fn required() -> Vec<&'static str> {
                [$(<$kind>::required()),+].concat()
            }
        }
    };
}
pub(crate) use parts;

/// A table `T` of the file with settings among its keys.
#[derive(Clone, Debug)]
pub(crate) struct With<K, T> {
    pub(crate) settings: K,
    table: T,
}

impl<K: Keys, T> With<K, T> {
    /// A table without given settings.
    pub(crate) fn of(table: T) -> Self {
        Self { settings: K::default(), table }
    }

    /// The settings and the other keys, to be changed.
    pub(crate) fn parts_mut(&mut self) -> (&mut K, &mut T) {
        (&mut self.settings, &mut self.table)
    }
}

impl<K, T> Deref for With<K, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.table
    }
}

impl<K, T> DerefMut for With<K, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.table
    }
}

/// The keys of a map that `K` does not take. It takes the others while all are read.
struct Rest<'k, K, A> {
    keys: &'k mut K,
    map: A,
}

impl<'de, K: Keys, A: MapAccess<'de>> MapAccess<'de> for Rest<'_, K, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<Name>()? {
            if !K::takes(&key.text) {
                let text: StringDeserializer<A::Error> = key.text.into_deserializer();
                return seed.deserialize(text).map(Some);
            }
            self.keys.take(key, &mut self.map)?;
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

impl<'de, K: Keys, T: Deserialize<'de>> Deserialize<'de> for With<K, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The two parts without their place.
        struct Parts<K, T>(K, T);
        struct AnyTable<K, T>(PhantomData<(K, T)>);
        impl<'de, K: Keys, T: Deserialize<'de>> Visitor<'de> for AnyTable<K, T> {
            type Value = Parts<K, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Parts<K, T>, A::Error> {
                let mut keys = K::default();
                let rest = MapAccessDeserializer::new(Rest { keys: &mut keys, map });
                let table = T::deserialize(rest)?;
                Ok(Parts(keys, table))
            }
        }
        impl<'de, K: Keys, T: Deserialize<'de>> Deserialize<'de> for Parts<K, T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map(AnyTable(PhantomData))
            }
        }
        let parts = Spanned::<Parts<K, T>>::deserialize(deserializer)?;
        let span = parts.span();
        let Parts(mut settings, table) = parts.into_inner();
        settings.place(&span);
        Ok(Self { settings, table })
    }
}

impl<K: Keys, T: JsonSchema> JsonSchema for With<K, T> {
    fn schema_name() -> Cow<'static, str> {
        K::about().0.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut table = T::json_schema(generator).to_value();
        let object = table.as_object_mut().expect("a table is an object");
        object.entry("description").or_insert_with(|| K::about().1.into());
        let own = object.entry("properties").or_insert_with(|| Map::new().into());
        let own = own.as_object_mut().expect("properties have names");
        own.extend(K::properties(generator, K::USUAL));
        let required = K::required();
        if !required.is_empty() {
            let names = object.entry("required").or_insert_with(|| Vec::<Json>::new().into());
            let names = names.as_array_mut().expect("names are listed");
            names.extend(required.into_iter().map(Json::from));
        }
        Schema::try_from(table).expect("an object is a schema")
    }
}
