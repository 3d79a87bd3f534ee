//! A queueing discipline as the value of a setting. Settings are below disciplines, so the value hides its type.

use alloc::boxed::Box;
use core::any::Any;
use core::fmt::{self, Debug};

/// The parameters of a discipline.
pub struct Queue(Box<dyn Inner>);

/// What a value must do, for parameters of any type.
trait Inner: Any + Debug + Send + Sync {
    fn copy(&self) -> Queue;
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<T: Any + Clone + Debug + PartialEq + Send + Sync> Inner for T {
    fn copy(&self) -> Queue {
        Queue::new(self.clone())
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }
}

impl Queue {
    /// The value of these parameters.
    pub fn new(parameters: impl Any + Clone + Debug + PartialEq + Send + Sync) -> Self {
        Self(Box::new(parameters))
    }

    /// The parameters, if they are of that type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// The parameters, if they are of that type.
    pub fn into<T: Any>(self) -> Option<T> {
        let any: Box<dyn Any> = self.0;
        any.downcast().ok().map(|parameters| *parameters)
    }
}

impl Clone for Queue {
    fn clone(&self) -> Self {
        self.0.copy()
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        let other: &dyn Any = &*other.0;
        self.0.equals(other)
    }
}

impl Eq for Queue {}

impl Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn a_value_is_equal_to_its_copy_and_hides_its_type() {
        let value = Queue::new(7_u32);
        assert_eq!(value, value.clone());
        assert_ne!(value, Queue::new(8_u32));
        assert_ne!(value, Queue::new(7_u64));
        assert_eq!(format!("{value:?}"), "7");
        assert_eq!((value.get(), value.get::<u64>()), (Some(&7_u32), None));
        assert_eq!(value.into(), Some(7_u32));
    }
}
