//! Resolves the names of elements to indices, and checks their chains.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::parameters::{Element, Error, Parameters, Source};
use crate::tree::list;
use base::action::Action;

/// An action that names its element by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Pass,
    Drop,
    Mark(u8),
    Next(usize),
    Return,
}

impl Step {
    /// The element it leads to.
    pub(super) const fn target(self) -> Option<usize> {
        match self {
            Self::Next(index) => Some(index),
            Self::Pass | Self::Drop | Self::Mark(_) | Self::Return => None,
        }
    }
}

/// Checked parameters: every name exists and every chain ends.
pub(super) struct Chains {
    /// The actions of each element, green first.
    pub(super) steps: Vec<[Step; 3]>,
    /// The element of each rule.
    pub(super) firsts: Vec<usize>,
    pub(super) default: Step,
}

pub(super) fn resolve(parameters: &Parameters) -> Result<Chains, Error> {
    let elements = &parameters.elements;
    let mut places = BTreeMap::new();
    for (index, element) in elements.iter().enumerate() {
        if places.insert(element.name.as_str(), index).is_some() {
            return Err(Error::DuplicateName(element.name.clone()));
        }
    }
    let find = |name: &str, from: &dyn Fn() -> Source| {
        places.get(name).copied().ok_or_else(|| {
            let names = list(elements.iter().map(|element| element.name.as_str()));
            let none = names.is_empty();
            let known = if none { "there are none".into() } else { format!("name one of {names}") };
            Error::UnknownElement { from: from(), name: name.into(), known }
        })
    };
    let step = |action: &Action, from: &dyn Fn() -> Source| {
        Ok(match action {
            Action::Pass => Step::Pass,
            Action::Drop => Step::Drop,
            Action::Return => Step::Return,
            &Action::Mark(dscp) if dscp > 63 => return Err(Error::Dscp { from: from(), dscp }),
            &Action::Mark(dscp) => Step::Mark(dscp),
            Action::Next(name) => Step::Next(find(name, from)?),
        })
    };
    let steps_of = |element: &Element| {
        let from = || Source::Element(element.name.clone());
        let Element { green, yellow, red, .. } = element;
        Ok([step(green, &from)?, step(yellow, &from)?, step(red, &from)?])
    };
    let default = step(&parameters.default, &|| Source::Default)?;
    if default == Step::Return {
        return Err(Error::DefaultReturns);
    }
    let steps: Vec<_> = elements.iter().map(steps_of).collect::<Result<_, _>>()?;
    let rules = (1_usize..).zip(&parameters.rules);
    let firsts = rules.map(|(index, rule)| find(&rule.element, &|| Source::Rule(index)));
    let firsts = firsts.collect::<Result<_, _>>()?;
    check_ends(elements, &steps, default)?;
    Ok(Chains { steps, firsts, default })
}

/// The elements that may follow this one, also through the default action.
fn successors(element: &Element, steps: [Step; 3], default: Step) -> impl Iterator<Item = usize> {
    let taken = steps.into_iter().zip(element.colours()).filter(|&(_, possible)| possible);
    taken.filter_map(move |(step, _)| if step == Step::Return { default } else { step }.target())
}

/// Follows every chain depth first. An element found again on its own chain is a cycle.
fn check_ends(elements: &[Element], steps: &[[Step; 3]], default: Step) -> Result<(), Error> {
    let (mut entered, mut left) = (vec![false; elements.len()], vec![false; elements.len()]);
    for start in 0..elements.len() {
        let mut chain = Vec::new();
        let mut next = Some(start).filter(|&start| !entered[start]);
        loop {
            if let Some(index) = next {
                entered[index] = true;
                chain.push((index, successors(&elements[index], steps[index], default)));
            }
            let Some((index, successors)) = chain.last_mut() else { break };
            next = successors.find(|&successor| !left[successor]);
            match next {
                None => {
                    left[*index] = true;
                    chain.pop();
                }
                Some(again) if entered[again] => {
                    let round = chain.iter().skip_while(|&&(index, _)| index != again);
                    let names = round.map(|&(index, _)| elements[index].name.clone());
                    return Err(Error::Cycle(names.collect()));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}
