//! Impairments: what one direction of a link does to the packets on it. Each is a file of its own and a line of
//! the registry here; links without any have nothing to pay.

pub mod gemodel;
pub mod loss;

use traffic::Random;

/// The registry: variant, module, name in a scenario.
macro_rules! registry {
    ($($variant:ident = $module:ident :: $type:ident, $name:literal;)*) => {
        /// What a user may set of an impairment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Parameters {
            $(#[doc = concat!("See [`", stringify!($module), "`].")]
            $variant($module::Parameters),)*
        }

        /// An impairment of one direction of a link.
        #[derive(Clone, Debug)]
        pub enum Impairment {
            $(#[doc = concat!("See [`", stringify!($module), "`].")]
            $variant($module::$type),)*
        }

        impl Parameters {
            /// The name of the impairment, as in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }
        }

        impl Impairment {
            /// The impairment with these parameters, whose chances `random` decides.
            pub fn new(parameters: Parameters, random: Random) -> Self {
                match parameters {
                    $(Parameters::$variant(own) => {
                        Self::$variant($module::$type::new(own, random))
                    })*
                }
            }

            /// Whether the next packet passes; it is lost otherwise.
            #[inline]
            pub fn passes(&mut self) -> bool {
                match self { $(Self::$variant(own) => own.passes(),)* }
            }
        }
    };
}

registry! {
    Loss = loss::Loss, "loss";
    Gemodel = gemodel::GilbertElliott, "gemodel";
}
