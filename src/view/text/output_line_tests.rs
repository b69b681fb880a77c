//! What is shown of a line of output, and that nothing else ever is.

use proptest::prelude::*;

use crate::view::text::sgr::SgrColour;

use super::*;

/// The parts of a line, each with the name of its colour, `b`, `f` and `u` for its style, and its text.
fn shown(text: &str) -> Vec<(String, String)> {
    let style = |style: SgrStyle| {
        let colour = style.colour.map_or(String::new(), |colour| colour.as_str().to_owned());
        let flags = [(style.is_bold, "+b"), (style.is_faint, "+f"), (style.is_underlined, "+u")];
        colour + &flags.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect::<String>()
    };
    let line = OutputLine::unstamped(text.as_bytes());
    line.spans.iter().map(|span| (style(span.style), span.text.clone())).collect()
}

/// The text of a line alone.
fn text_of(line: &OutputLine) -> String {
    line.spans.iter().map(|span| span.text.as_str()).collect()
}

#[test]
fn a_stored_line_has_its_time_its_stream_and_whether_it_continues() {
    let stored = |rest: &str| OutputLine::stored(format!("2026-11-20T12:00:00.123Z {rest}\n").as_bytes());
    for (rest, is_err, continues, text) in
        [("out one", false, false, "one"), ("err+ two", true, true, "two"), ("out ", false, false, "")]
    {
        let line = stored(rest);
        assert_eq!(line.at, Some(UtcMillis(1_795_176_000_123)), "{rest}");
        assert_eq!((line.is_err, line.continues), (is_err, continues), "{rest}");
        assert_eq!(text_of(&line), text, "{rest}");
    }
    let missing = OutputLine::stored(b"solocron: 96 bytes of the log are missing here\n");
    assert_eq!((missing.at, missing.is_err), (None, false));
    assert_eq!(text_of(&missing), "solocron: 96 bytes of the log are missing here");
}

#[test]
fn colours_are_mapped_to_sixteen_and_end_with_their_line() {
    for (text, parts) in [
        ("plain ünï", &[("", "plain ünï")][..]),
        ("\u{1b}[1;31mred\u{1b}[0m plain", &[("red+b", "red"), ("", " plain")]),
        ("\u{1b}[91mbright\u{1b}[39mno", &[("bright-red", "bright"), ("", "no")]),
        ("\u{1b}[32ma\u{1b}[32mb", &[("green", "ab")]),
        ("\u{1b}[41mmarked\u{1b}[49m.", &[("red", "marked"), ("", ".")]),
        ("\u{1b}[97;41mboth", &[("bright-white", "both")]),
        ("\u{1b}[38;5;208morange", &[("bright-yellow", "orange")]),
        ("\u{1b}[38:5:4mblue", &[("blue", "blue")]),
        ("\u{1b}[38;2;200;0;0;1mred", &[("bright-red+b", "red")]),
        ("\u{1b}[38:2::0:128:0mgreen", &[("green", "green")]),
        ("\u{1b}[38:2:0:128:0mgreen", &[("green", "green")]),
        ("\u{1b}[38;5;244mgrey", &[("bright-black", "grey")]),
        ("\u{1b}[2;4mfaint\u{1b}[22;24mnot", &[("+f+u", "faint"), ("", "not")]),
        ("\u{1b}[mplain\u{1b}[;31mred", &[("", "plain"), ("red", "red")]),
        ("\u{9b}34mblue", &[("blue", "blue")]),
        ("\u{1b}[7;5;777;38;5mplain", &[("", "plain")]),
    ] {
        let shown = shown(text);
        let shown: Vec<(&str, &str)> = shown.iter().map(|(style, text)| (&**style, &**text)).collect();
        assert_eq!(shown, parts, "{text:?}");
    }
}

#[test]
fn what_a_terminal_would_obey_is_shown_as_replaced() {
    for (text, shown) in [
        ("\ttab", "\ttab"),
        ("a\u{1b}[2Jb\u{1b}[Kc", "a\u{fffd}b\u{fffd}c"),
        ("\u{1b}]0;title\u{7}after", "\u{fffd}after"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "\u{fffd}link\u{fffd}"),
        ("\u{1b}P1;1|x\u{9c}after", "\u{fffd}after"),
        ("\u{9d}0;title\u{7}after", "\u{fffd}after"),
        ("\u{1b}]no end of it", "\u{fffd}]no end of it"),
        ("\u{1b}[31", "\u{fffd}[31"),
        ("\u{1b}[>4;2m", "\u{fffd}"),
        ("\u{1b}(Bx\u{1b}7\u{1b}cy", "\u{fffd}x\u{fffd}\u{fffd}y"),
        ("\u{1b}", "\u{fffd}"),
        ("\u{1b}\u{1b}[31mred", "\u{fffd}red"),
        ("\u{0}\u{7f}\u{8}\u{85}", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("one\u{2028}two", "one\u{fffd}two"),
        ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
        ("10 %\r20 %\r30 %", "30 %"),
        ("windows\r\n", "windows"),
        ("\u{1b}[32m10 %\rdone\r\r", "done"),
        ("one\ntwo", "one\u{fffd}two"),
    ] {
        assert_eq!(text_of(&OutputLine::unstamped(text.as_bytes())), shown, "{text:?}");
    }
    assert_eq!(text_of(&OutputLine::unstamped(b"a\xff\xfeb\xc3")), "a\u{fffd}\u{fffd}b\u{fffd}");
}

#[test]
fn a_line_that_is_too_long_is_cut_and_says_so() {
    let just = OutputLine::unstamped("x".repeat(LONGEST).as_bytes());
    assert_eq!(text_of(&just).len(), LONGEST);
    let more = text_of(&OutputLine::unstamped("x".repeat(LONGEST + 1).as_bytes()));
    assert!(more.ends_with("xx…") && more.len() == LONGEST + "…".len());
}

#[test]
fn each_colour_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<&str> =
        SgrColour::ALL.iter().map(|colour| colour.as_str()).collect();
    assert_eq!(names.len(), 16);
}

/// Pieces of which lines with many sequences are made.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let fixed: [&[u8]; 14] = [
        b"\x1b",
        b"\x1b[",
        b"\x1b]",
        b"\x1b[1;31m",
        b"\x1b[38;5;",
        b"m",
        b";",
        b"\x07",
        b"\x1b\\",
        b"\r",
        b"\t",
        b"\xc2\x9b",
        "\u{202e}".as_bytes(),
        b"\xe2\x80",
    ];
    prop_oneof![
        prop::sample::select(fixed.to_vec()).prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..8),
        Just(vec![b'x'; 5_000]),
    ]
}

proptest! {
    #[test]
    fn of_any_bytes_a_bounded_text_without_control_characters_is_shown(
        pieces in prop::collection::vec(piece(), 0..60),
    ) {
        let bytes = pieces.concat();
        let line = OutputLine::stored(&bytes);
        let text = text_of(&line);
        prop_assert!(!text.contains(|c: char| c.is_control() && c != '\t' || reorders(c)), "{:?}", text);
        prop_assert!(text.len() <= 3 * bytes.len().min(LONGEST) + CUT.len_utf8());
        prop_assert!(line.spans.iter().all(|span| !span.text.is_empty()));
        prop_assert!(line.spans.windows(2).all(|pair| pair[0].style != pair[1].style));
    }
}
