//! Colours and styles of letters as a terminal is told them: the parameters of the sequence SGR, mapped to
//! the sixteen colours that every terminal has.

/// More codes of one sequence are not read.
const MOST_CODES: usize = 32;

/// The levels of a colour's red, green and blue in the cube of 216 colours.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// One of the sixteen colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the colours")]
pub enum SgrColour {
    Black,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    White,
    BrightBlack,
    BrightRed,
    BrightGreen,
    BrightYellow,
    BrightBlue,
    BrightMagenta,
    BrightCyan,
    BrightWhite,
}

/// How letters look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SgrStyle {
    /// Their colour; `None` for that of plain text. Letters with a background alone have its colour.
    pub colour: Option<SgrColour>,
    /// Whether they are bold.
    pub is_bold: bool,
    /// Whether they are faint.
    pub is_faint: bool,
    /// Whether they are underlined.
    pub is_underlined: bool,
}

/// What the sequences so far have set.
#[derive(Debug, Default)]
pub(super) struct SgrState {
    letters: Option<SgrColour>,
    background: Option<SgrColour>,
    is_bold: bool,
    is_faint: bool,
    is_underlined: bool,
}

impl SgrColour {
    /// All colours, in the order of their codes.
    pub const ALL: [Self; 16] = [
        Self::Black,
        Self::Red,
        Self::Green,
        Self::Yellow,
        Self::Blue,
        Self::Magenta,
        Self::Cyan,
        Self::White,
        Self::BrightBlack,
        Self::BrightRed,
        Self::BrightGreen,
        Self::BrightYellow,
        Self::BrightBlue,
        Self::BrightMagenta,
        Self::BrightCyan,
        Self::BrightWhite,
    ];

    /// Returns its name, as a class of style sheets: `red`, `bright-red`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Black => "black",
            Self::Red => "red",
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Blue => "blue",
            Self::Magenta => "magenta",
            Self::Cyan => "cyan",
            Self::White => "white",
            Self::BrightBlack => "bright-black",
            Self::BrightRed => "bright-red",
            Self::BrightGreen => "bright-green",
            Self::BrightYellow => "bright-yellow",
            Self::BrightBlue => "bright-blue",
            Self::BrightMagenta => "bright-magenta",
            Self::BrightCyan => "bright-cyan",
            Self::BrightWhite => "bright-white",
        }
    }

    /// Returns the colour with this number of the 256.
    fn indexed(number: u8) -> Option<Self> {
        let level = |at: u8| CUBE.get(usize::from(at)).copied().unwrap_or_default();
        match number {
            0..16 => Self::ALL.get(usize::from(number)).copied(),
            16..232 => {
                let cube = number - 16;
                Some(Self::nearest([level(cube / 36), level(cube / 6 % 6), level(cube % 6)]))
            }
            232.. => Some(Self::nearest([8 + 10 * (number - 232); 3])),
        }
    }

    /// Returns the colour that is much like this one of red, green and blue.
    fn nearest(rgb: [u8; 3]) -> Self {
        let [red, green, blue] = rgb;
        let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
        if most - least < 32 {
            return match most {
                0..64 => Self::Black,
                64..144 => Self::BrightBlack,
                144..224 => Self::White,
                224.. => Self::BrightWhite,
            };
        }
        let bit = |level: u8, bit: usize| if level > most / 2 { bit } else { 0 };
        let bright = if most > 192 { 8 } else { 0 };
        let number = bit(red, 1) | bit(green, 2) | bit(blue, 4) | bright;
        Self::ALL.get(number).copied().unwrap_or(Self::White)
    }
}

impl SgrState {
    /// Returns the style of the letters that follow.
    pub(super) fn style(&self) -> SgrStyle {
        SgrStyle {
            colour: self.letters.or(self.background),
            is_bold: self.is_bold,
            is_faint: self.is_faint,
            is_underlined: self.is_underlined,
        }
    }

    /// Applies the parameters of a sequence, such as `1;31` or `38:5:208`. What is not known changes nothing.
    pub(super) fn apply(&mut self, parameters: &str) {
        let mut codes = parameters.split(';').take(MOST_CODES);
        while let Some(code) = codes.next() {
            let mut parts = code.split(':');
            match parts.next().map_or(0, number) {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_faint = true,
                4 => self.is_underlined = parts.next() != Some("0"),
                22 => (self.is_bold, self.is_faint) = (false, false),
                24 => self.is_underlined = false,
                code @ (30..38 | 90..98) => self.letters = basic(code),
                38 if code.contains(':') => self.letters = extended_in_one(parts),
                38 => self.letters = extended(&mut codes),
                39 => self.letters = None,
                code @ (40..48 | 100..108) => self.background = basic(code - 10),
                48 if code.contains(':') => self.background = extended_in_one(parts),
                48 => self.background = extended(&mut codes),
                49 => self.background = None,
                _ => {}
            }
        }
    }
}

/// Returns the number of a code; what is left out is 0, and what is too large means nothing.
fn number(code: &str) -> u8 {
    if code.is_empty() { 0 } else { code.parse().unwrap_or(u8::MAX) }
}

/// Returns the colour of a code from 30 to 37, or from 90 to 97.
fn basic(code: u8) -> Option<SgrColour> {
    SgrColour::indexed(if code < 90 { code - 30 } else { code - 90 + 8 })
}

/// Returns the colour whose kind and numbers are the next codes: `5` and one number of the 256, or `2` and
/// red, green and blue.
fn extended<'a>(codes: &mut impl Iterator<Item = &'a str>) -> Option<SgrColour> {
    match codes.next() {
        Some("5") => SgrColour::indexed(number(codes.next()?)),
        Some("2") => {
            Some(SgrColour::nearest([number(codes.next()?), number(codes.next()?), number(codes.next()?)]))
        }
        _ => None,
    }
}

/// The same for a code with colons, in which the number of a colour space may stand before red, green and
/// blue.
fn extended_in_one<'a>(parts: impl Iterator<Item = &'a str>) -> Option<SgrColour> {
    let mut parts: Vec<&str> = parts.take(MOST_CODES).collect();
    if parts.first() == Some(&"2") && parts.len() > 4 {
        parts.remove(1);
    }
    extended(&mut parts.into_iter())
}
