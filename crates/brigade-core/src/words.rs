//! Enums of keywords, as files and reports spell them.

use thiserror::Error;

/// An unknown keyword. Does not contain the keyword itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected one of {expected}")]
pub struct UnknownWord {
    /// The known keywords, separated by commas.
    pub expected: &'static str,
}

/// Defines an enum of keywords, listing each keyword once, with `ALL`, `EXPECTED`, `as_str`, `of`, `Display` and
/// `FromStr`.
///
/// ```
/// brigade_core::words! {
///     /// How much a build prints.
///     Volume {
///         /// Errors alone.
///         Quiet = "quiet",
///         /// Everything.
///         Loud = "loud",
///     }
/// }
///
/// assert_eq!(Volume::of("loud"), Some(Volume::Loud));
/// assert_eq!(Volume::EXPECTED, "quiet, loud");
/// assert!("LOUD".parse::<Volume>().is_err());
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$doc:meta])* $name:ident {
            $(#[$first_doc:meta])* $first:ident = $first_word:literal
            $(, $(#[$variant_doc:meta])* $variant:ident = $word:literal)* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[$first_doc])* $first,
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All of them, in the documented order.
            pub const ALL: &'static [$name] = &[$name::$first, $($name::$variant,)*];

            /// All keywords, separated by commas, for messages.
            pub const EXPECTED: &'static str = concat!($first_word $(, ", ", $word)*);

            /// Returns the keyword in files and reports.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $name::$first => $first_word,
                    $($name::$variant => $word,)*
                }
            }

            /// Reads a keyword, which must be spelled exactly so.
            pub fn of(word: &str) -> Option<$name> {
                match word {
                    $first_word => Some($name::$first),
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::core::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> ::core::result::Result<Self, $crate::UnknownWord> {
                $name::of(word).ok_or($crate::UnknownWord { expected: $name::EXPECTED })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::UnknownWord;

    words! {
        /// One of a kind.
        Single {
            /// The only one.
            Only = "only-one",
        }
    }

    words! {
        /// Some of them.
        Colour {
            /// Red.
            Red = "red",
            /// Dark green.
            DarkGreen = "dark-green",
            /// Blue.
            Blue = "blue"
        }
    }

    #[test]
    fn every_word_reads_back_and_nothing_else_does() {
        for colour in Colour::ALL {
            assert_eq!(Colour::of(colour.as_str()), Some(*colour));
            assert_eq!(colour.to_string().parse(), Ok(*colour));
        }
        for other in ["", "Red", "red ", "only-one"] {
            assert_eq!(other.parse::<Colour>(), Err(UnknownWord { expected: Colour::EXPECTED }));
        }
    }

    #[test]
    fn the_expected_list_names_all_words_in_order() {
        assert_eq!(Colour::EXPECTED, "red, dark-green, blue");
        assert_eq!((Single::EXPECTED, Single::ALL.len()), ("only-one", 1));
        assert_eq!(
            UnknownWord { expected: Colour::EXPECTED }.to_string(),
            "expected one of red, dark-green, blue"
        );
    }
}
