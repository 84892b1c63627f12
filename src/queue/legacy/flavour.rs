//! Which Bull wrote a queue.

/// The versions of Bull that may have written a queue, as far as it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    Two,
    OneOrTwo,
    ThreeOrFour,
    Any,
}

impl Flavour {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flavour::Two => "Bull 2.x",
            Flavour::OneOrTwo => "Bull 1.x or 2.x",
            Flavour::ThreeOrFour => "Bull 3.x or 4.x",
            Flavour::Any => "Bull",
        }
    }
}
