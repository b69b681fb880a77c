//! Cuts a stream of bytes into lines. At most one piece of a line is held in memory, and no byte but the newlines is
//! lost or changed.

use std::io::BufRead;

/// Longest piece of a line in bytes; longer lines come as several pieces.
pub(super) const MAX_PIECE: usize = 16 * 1024;

/// Whether a piece is the end of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceEnd {
    /// The line ends here.
    Last,
    /// The line continues in the stream's next piece.
    More,
}

/// Cuts one stream; holds the line that is not complete yet.
#[derive(Debug, Default)]
pub(super) struct LineCutter {
    partial: Vec<u8>,
}

impl LineCutter {
    /// Takes the stream's next bytes, and passes on every piece that they complete, without its newline.
    pub(super) fn cut(&mut self, mut bytes: &[u8], mut hand_on: impl FnMut(&[u8], PieceEnd)) {
        while !bytes.is_empty() {
            let room = MAX_PIECE - self.partial.len();
            let mut unread = &bytes[..bytes.len().min(room + 1)];
            let read = unread.skip_until(b'\n').expect("reading from memory cannot fail");
            if bytes[read - 1] == b'\n' {
                self.emit(&bytes[..read - 1], PieceEnd::Last, &mut hand_on);
                bytes = &bytes[read..];
            } else if read > room {
                self.emit(&bytes[..room], PieceEnd::More, &mut hand_on);
                bytes = &bytes[room..];
            } else {
                self.partial.extend_from_slice(bytes);
                return;
            }
        }
    }

    /// Ends the stream: passes on what came after its last newline.
    pub(super) fn finish(&mut self, mut hand_on: impl FnMut(&[u8], PieceEnd)) {
        if !self.partial.is_empty() {
            self.emit(&[], PieceEnd::Last, &mut hand_on);
        }
    }

    fn emit(&mut self, rest: &[u8], piece: PieceEnd, hand_on: &mut impl FnMut(&[u8], PieceEnd)) {
        if self.partial.is_empty() {
            return hand_on(rest, piece);
        }
        self.partial.extend_from_slice(rest);
        hand_on(&self.partial, piece);
        self.partial.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(chunks: &[&[u8]]) -> Vec<(Vec<u8>, PieceEnd)> {
        let mut cutter = LineCutter::default();
        let mut all = Vec::new();
        for chunk in chunks {
            cutter.cut(chunk, |bytes, piece| all.push((bytes.to_vec(), piece)));
        }
        cutter.finish(|bytes, piece| all.push((bytes.to_vec(), piece)));
        all
    }

    #[test]
    fn a_line_is_handed_on_when_its_newline_comes_and_the_rest_at_the_end() {
        let all = pieces(&[b"one\ntw", b"o\n\nthree"]);
        let lines: Vec<_> = all.iter().map(|(bytes, piece)| (bytes.as_slice(), *piece)).collect();
        let expected: [(&[u8], PieceEnd); 4] = [
            (b"one", PieceEnd::Last),
            (b"two", PieceEnd::Last),
            (b"", PieceEnd::Last),
            (b"three", PieceEnd::Last),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_line_of_just_the_limit_is_whole_and_one_byte_more_makes_two_pieces() {
        let just = [vec![b'x'; MAX_PIECE], b"\n".to_vec()].concat();
        assert_eq!(pieces(&[&just]), [(vec![b'x'; MAX_PIECE], PieceEnd::Last)]);
        assert_eq!(pieces(&[&just[..MAX_PIECE], b"\n"]), [(vec![b'x'; MAX_PIECE], PieceEnd::Last)]);
        let more = [vec![b'x'; MAX_PIECE + 1], b"\n".to_vec()].concat();
        let expected = [(vec![b'x'; MAX_PIECE], PieceEnd::More), (b"x".to_vec(), PieceEnd::Last)];
        assert_eq!(pieces(&[&more]), expected);
        assert_eq!(pieces(&[&more[..MAX_PIECE], &more[MAX_PIECE..]]), expected);
    }

    proptest! {
        #[test]
        fn pieces_put_together_are_the_stream_however_it_was_read(
            lengths in prop::collection::vec(0usize..40_000, 0..6),
            chunk in 1usize..50_000,
            ends in any::<bool>(),
        ) {
            let mut stream = Vec::new();
            for (n, length) in lengths.iter().enumerate() {
                stream.extend(std::iter::repeat_n(n as u8, *length).map(|byte| byte.wrapping_add(b'a')));
                stream.push(b'\n');
            }
            if !ends {
                stream.pop();
            }
            let mut again = Vec::new();
            for (bytes, piece) in pieces(&stream.chunks(chunk).collect::<Vec<_>>()) {
                prop_assert!(bytes.len() <= MAX_PIECE);
                again.extend(bytes);
                again.extend((piece == PieceEnd::Last).then_some(b'\n'));
            }
            if stream.last().is_some_and(|&last| last != b'\n') {
                stream.push(b'\n');
            }
            prop_assert_eq!(again, stream);
        }
    }
}
