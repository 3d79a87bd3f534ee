//! Tables of the file with parameters only.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use base::setting::{Settings, Value};
use network::invalid::Invalid;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, MapAccess};
use serde_json::{Map, Value as Json};
use serde_spanned::Spanned;

use super::{Given, Keys, NO_QUEUES, Scalar, adjust, object, one_line, properties, required};
use crate::diagnostic::{Problems, Span};
use crate::value::{Name, Table};

/// Parameters with their own table in the file.
pub(crate) trait Named: Settings + Default {
    /// The table's name in the schema.
    const NAME: &'static str;
}

/// The given values of parameters, whose declaration lists the settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    given: Table<Given>,
    pub(crate) span: Span,
}

impl Values {
    /// Applies the values in the file; `None` if any is invalid.
    pub(crate) fn apply(
        &self,
        parameters: &mut dyn Settings,
        problems: &mut Problems,
    ) -> Option<()> {
        adjust(parameters, &self.given.0, &self.span, NO_QUEUES, problems)
    }

    /// Adds a value, the next one of `map`.
    pub(crate) fn take<'de, A: MapAccess<'de>>(
        &mut self,
        key: Name,
        map: &mut A,
    ) -> Result<(), A::Error> {
        self.given.0.push((key, map.next_value()?));
        Ok(())
    }

    /// Adds a setting that is not in the file.
    pub(crate) fn give(&mut self, setting: &str, scalar: Scalar) {
        let name = Name { text: setting.to_owned(), span: scalar.span.clone() };
        self.given.0.push((name, Given::Scalar(scalar)));
    }

    /// The place of the setting of that name.
    pub(crate) fn span_of(&self, setting: &str) -> Option<&Span> {
        let found = self.given.iter().find(|(name, _)| name.text == setting);
        found.map(|(_, value)| value.span())
    }

    /// The given value of the setting of that name, if it is a single value.
    pub(crate) fn scalar(&self, setting: &str) -> Option<&Scalar> {
        let found = self.given.0.iter().find(|(name, _)| name.text == setting);
        found.and_then(|(_, given)| match given {
            Given::Scalar(scalar) => Some(scalar),
            Given::Table(_) => None,
        })
    }

    /// The name of a setting, if it is given.
    pub(crate) fn name(&self, setting: &str) -> Option<&Name> {
        self.given.0.iter().map(|(name, _)| name).find(|name| name.text == setting)
    }

    /// Reports an invalid combination at its setting.
    pub(crate) fn accept(
        &self,
        checked: Result<(), Invalid>,
        problems: &mut Problems,
    ) -> Option<()> {
        let Err(invalid) = checked else { return Some(()) };
        let span = self.span_of(invalid.setting).unwrap_or(&self.span);
        problems.push(span, invalid.message, invalid.help);
        None
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = Spanned::<Table<Given>>::deserialize(deserializer)?;
        Ok(Self { span: table.span(), given: table.into_inner() })
    }
}

/// The given values of parameters of the type `T`.
#[derive(Clone, Debug)]
pub(crate) struct Declared<T> {
    values: Values,
    of: PhantomData<T>,
}

impl<T> Deref for Declared<T> {
    type Target = Values;
    fn deref(&self) -> &Values {
        &self.values
    }
}

impl<T> DerefMut for Declared<T> {
    fn deref_mut(&mut self) -> &mut Values {
        &mut self.values
    }
}

impl<T: Named> Declared<T> {
    /// The parameters with the values in the file; `None` if any is invalid.
    pub(crate) fn read(&self, problems: &mut Problems) -> Option<T> {
        let mut parameters = T::blank();
        self.apply(&mut parameters, problems)?;
        Some(parameters)
    }

    /// Only the values in the file; `None` if any is invalid.
    pub(crate) fn values(&self, problems: &mut Problems) -> Option<Vec<(&'static str, Value)>> {
        let parameters = self.read(problems)?;
        let settings = parameters.settings().into_iter().map(|setting| setting.name);
        let given = settings.filter(|name| self.span_of(name).is_some());
        Some(given.filter_map(|name| Some((name, parameters.get(name)?))).collect())
    }

    /// A given name that is not a setting.
    pub(crate) fn unknown(&self) -> Option<&Name> {
        self.given.0.iter().map(|(name, _)| name).find(|name| !Self::takes(&name.text))
    }
}

impl<T> Default for Declared<T> {
    fn default() -> Self {
        Self { values: Values::default(), of: PhantomData }
    }
}

impl<T: Named> Keys for Declared<T> {
    fn takes(name: &str) -> bool {
        T::blank().settings().iter().any(|setting| setting.name == name)
    }

    fn take<'de, A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        self.values.take(key, map)
    }

    fn about() -> (&'static str, String) {
        (T::NAME, one_line(T::blank().doc()))
    }

    fn place(&mut self, span: &Span) {
        self.span.clone_from(span);
    }

    fn properties(generator: &mut SchemaGenerator, _: &str) -> Map<String, Json> {
        properties(&T::blank().settings(), generator)
    }

    fn required() -> Vec<&'static str> {
        required(&T::blank().settings())
    }
}

impl<'de, T> Deserialize<'de> for Declared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { values: Values::deserialize(deserializer)?, of: PhantomData })
    }
}

impl<T: Named> JsonSchema for Declared<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        table(&T::blank(), generator)
    }
}

/// The schema of a table of these parameters.
pub(crate) fn table(parameters: &dyn Settings, generator: &mut SchemaGenerator) -> Schema {
    let settings = parameters.settings();
    let properties = properties(&settings, generator);
    let table = object(one_line(parameters.doc()), properties, required(&settings));
    Schema::try_from(table).expect("an object is a schema")
}
