//! The points of a curve, and the means of its columns where the points are thinned.

use std::ops::{Deref, DerefMut};

use crate::chart::{Decimator, Thinned};

/// A curve's points; as a slice, those that are left after thinning.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Points(Thinned);

impl Points {
    /// No points.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Changes every point, and every mean alike.
    pub(crate) fn map(mut self, change: impl Fn((f64, f64)) -> (f64, f64)) -> Self {
        let all = self.0.points.iter_mut().chain(&mut self.0.means);
        all.for_each(|point| *point = change(*point));
        self
    }

    /// The points, and the means.
    pub(crate) fn into_thinned(self) -> Thinned {
        self.0
    }
}

impl From<Decimator> for Points {
    fn from(decimator: Decimator) -> Self {
        Self(decimator.finish_with_means())
    }
}

impl From<Vec<(f64, f64)>> for Points {
    fn from(points: Vec<(f64, f64)>) -> Self {
        Self(Thinned { points, means: Vec::new() })
    }
}

impl FromIterator<(f64, f64)> for Points {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(points: I) -> Self {
        Vec::from_iter(points).into()
    }
}

impl Extend<(f64, f64)> for Points {
    fn extend<I: IntoIterator<Item = (f64, f64)>>(&mut self, points: I) {
        self.0.points.extend(points);
    }
}

impl Deref for Points {
    type Target = [(f64, f64)];

    fn deref(&self) -> &Self::Target {
        &self.0.points
    }
}

impl DerefMut for Points {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0.points
    }
}
