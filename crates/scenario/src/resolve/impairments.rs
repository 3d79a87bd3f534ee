//! Impairments: from the file's tables to parameters.

use network::impairment::Parameters;

use crate::diagnostic::{Problems, Span};
use crate::impairment::Impairment;
use crate::setting::{NO_QUEUES, ScalarOr, adjust, scalar_value};
use crate::value::{Name, Table};

/// The parameters of the impairments of a link, or at one end; `None` if any is faulty.
pub(super) fn resolve(
    table: &Table<Impairment>,
    problems: &mut Problems,
) -> Option<Vec<Parameters>> {
    let read = table.iter().map(|(name, given)| one(name, given, problems));
    let read: Vec<_> = read.collect();
    read.into_iter().collect()
}

fn one(name: &Name, given: &Impairment, problems: &mut Problems) -> Option<Parameters> {
    let mut parameters = Parameters::blank(&name.text)?;
    match given {
        ScalarOr::Scalar(scalar) => {
            let setting = *parameters.settings().first()?;
            let value = scalar_value(&setting, scalar, problems)?;
            parameters.set(setting.name, value);
        }
        ScalarOr::Table(table) => {
            adjust(parameters.as_settings_mut(), &table.0, &name.span, NO_QUEUES, problems)?;
        }
    }
    if let Err(invalid) = parameters.check() {
        let span = span_of(invalid.setting, given).unwrap_or(&name.span);
        problems.push(span, invalid.message, invalid.help);
        return None;
    }
    Some(parameters)
}

/// The place of the setting of that name.
fn span_of<'g>(setting: &str, given: &'g Impairment) -> Option<&'g Span> {
    match given {
        ScalarOr::Scalar(scalar) => Some(&scalar.span),
        ScalarOr::Table(table) => {
            table.iter().find(|(name, _)| name.text == setting).map(|(_, value)| value.span())
        }
    }
}

/// Overrides impairments in a list by those in `own`, in the registry's order.
pub(super) fn override_by(list: &mut Vec<Parameters>, own: &[Parameters]) {
    list.retain(|other| own.iter().all(|own| own.name() != other.name()));
    list.extend_from_slice(own);
    let place =
        |one: &Parameters| Parameters::REGISTRY.iter().position(|entry| entry.name == one.name());
    list.sort_by_key(place);
}
