//! Tables of the file that are parameters and nothing else.

use std::borrow::Cow;
use std::marker::PhantomData;

use network::invalid::Invalid;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer};
use serde_spanned::Spanned;
use traffic::setting::Settings;

use super::schema::one_line;
use super::{Given, NO_QUEUES, adjust, object, properties, required};
use crate::diagnostic::{Problems, Span};
use crate::value::Table;

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
        adjust(&mut parameters, &self.given.0, &self.span, NO_QUEUES, problems)?;
        Some(parameters)
    }

    /// Where the setting of that name is given.
    pub(crate) fn span_of(&self, setting: &str) -> Option<&Span> {
        let found = self.given.iter().find(|(name, _)| name.text == setting);
        found.map(|(_, value)| value.span())
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
