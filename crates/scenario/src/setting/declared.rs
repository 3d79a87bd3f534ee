//! Tables of the file that are parameters and nothing else.

use std::borrow::Cow;
use std::marker::PhantomData;

use network::invalid::Invalid;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, MapAccess};
use serde_json::{Map, Value as Json};
use serde_spanned::Spanned;
use traffic::setting::{Settings, Value};

use super::{Given, Keys, NO_QUEUES, Scalar, adjust, object, one_line, properties, required};
use crate::diagnostic::{Problems, Span};
use crate::value::{Name, Table};

/// Parameters that have a table of the file to themselves.
pub(crate) trait Named: Settings + Default {
    /// The table's name in the schema.
    const NAME: &'static str;
}

/// What is given of such parameters. What can be set, their declaration says.
#[derive(Clone, Debug)]
pub(crate) struct Declared<T> {
    given: Table<Given>,
    pub(crate) span: Span,
    of: PhantomData<T>,
}

impl<T: Named> Declared<T> {
    /// The parameters with what the file sets; `None` if any of that is faulty.
    pub(crate) fn read(&self, problems: &mut Problems) -> Option<T> {
        let mut parameters = T::blank();
        self.adjust(&mut parameters, problems)?;
        Some(parameters)
    }

    /// Sets what the file sets; `None` if any of that is faulty.
    pub(crate) fn adjust(&self, parameters: &mut T, problems: &mut Problems) -> Option<()> {
        adjust(parameters, &self.given.0, &self.span, NO_QUEUES, problems)
    }

    /// What the file sets, and nothing else; `None` if any of that is faulty.
    pub(crate) fn values(&self, problems: &mut Problems) -> Option<Vec<(&'static str, Value)>> {
        let parameters = self.read(problems)?;
        let settings = parameters.settings().into_iter().map(|setting| setting.name);
        let given = settings.filter(|name| self.span_of(name).is_some());
        Some(given.filter_map(|name| Some((name, parameters.get(name)?))).collect())
    }

    /// Gives a setting that the file does not write.
    pub(crate) fn give(&mut self, setting: &str, scalar: Scalar) {
        let name = Name { text: setting.to_owned(), span: scalar.span.clone() };
        self.given.0.push((name, Given::Scalar(scalar)));
    }

    /// Where the setting of that name is given.
    pub(crate) fn span_of(&self, setting: &str) -> Option<&Span> {
        let found = self.given.iter().find(|(name, _)| name.text == setting);
        found.map(|(_, value)| value.span())
    }

    /// What is given for the setting of that name, if it is one value.
    pub(crate) fn scalar(&self, setting: &str) -> Option<&Scalar> {
        let found = self.given.0.iter().find(|(name, _)| name.text == setting);
        found.and_then(|(_, given)| match given {
            Given::Scalar(scalar) => Some(scalar),
            Given::Table(_) => None,
        })
    }

    /// That name, where it is given.
    pub(crate) fn name(&self, setting: &str) -> Option<&Name> {
        self.given.0.iter().map(|(name, _)| name).find(|name| name.text == setting)
    }

    /// A name that is given and is no setting.
    pub(crate) fn unknown(&self) -> Option<&Name> {
        self.given.0.iter().map(|(name, _)| name).find(|name| !Self::takes(&name.text))
    }

    /// Complains, at its setting, of what makes no sense.
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

impl<T> Default for Declared<T> {
    fn default() -> Self {
        Self { given: Table::default(), span: 0..0, of: PhantomData }
    }
}

impl<T: Named> Keys for Declared<T> {
    fn takes(name: &str) -> bool {
        T::blank().settings().iter().any(|setting| setting.name == name)
    }

    fn take<'de, A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        self.given.0.push((key, map.next_value()?));
        Ok(())
    }

    fn about() -> (&'static str, String) {
        (T::NAME, one_line(T::blank().doc()))
    }

    fn place(&mut self, span: &Span) {
        self.span.clone_from(span);
    }

    fn properties(generator: &mut SchemaGenerator) -> Map<String, Json> {
        properties(&T::blank().settings(), generator)
    }

    fn required() -> Vec<&'static str> {
        required(&T::blank().settings())
    }
}

impl<'de, T> Deserialize<'de> for Declared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = Spanned::<Table<Given>>::deserialize(deserializer)?;
        Ok(Self { span: table.span(), given: table.into_inner(), of: PhantomData })
    }
}

impl<T: Named> JsonSchema for Declared<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let parameters = T::blank();
        let settings = parameters.settings();
        let properties = properties(&settings, generator);
        let table = object(one_line(parameters.doc()), properties, required(&settings));
        Schema::try_from(table).expect("an object is a schema")
    }
}
