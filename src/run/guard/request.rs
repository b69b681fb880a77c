//! A replica's request to the zygote: one guarded attempt, with everything that its process needs. It is encoded as
//! bytes, because words, variables and paths need not be UTF-8.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use nix::unistd::{Gid, Uid};

use crate::run::attempt::user::Switch;
use crate::time::BootInstant;

/// One attempt to be started under a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::run) struct GuardRequest {
    /// The run's id. It names the guard, and the run's control group where one is delegated.
    pub(in crate::run) name: String,
    /// The program and its arguments.
    pub(in crate::run) words: Vec<OsString>,
    /// All of its environment variables.
    pub(in crate::run) env: Vec<(OsString, OsString)>,
    /// The folder in which it starts.
    pub(in crate::run) folder: Folder,
    /// Whether it leads a session of its own, without a terminal.
    pub(in crate::run) own_session: bool,
    /// The user and groups that it runs as; `None` for the replica's own.
    pub(in crate::run) switch: Option<Switch>,
    /// Whether nothing that it starts can gain privileges.
    pub(in crate::run) no_new_privileges: bool,
    /// Its standard input.
    pub(in crate::run) input: Input,
    /// The soft and the hard limit of open files.
    pub(in crate::run) files: Option<(u64, u64)>,
    /// The most processes that its user may have when it starts another.
    pub(in crate::run) processes: Option<u64>,
    /// The run may continue until this instant of the boot clock, and is not started after it.
    pub(in crate::run) deadline: BootInstant,
    /// Between SIGTERM and SIGKILL when that instant has passed, or the replica is gone.
    pub(in crate::run) loss_grace: Duration,
}

/// The folder in which a command starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::run) enum Folder {
    /// The replica's own folder.
    Inherited,
    /// This folder.
    At(CString),
    /// A user's home, or `/` if that cannot be entered.
    Home(CString),
}

impl Folder {
    fn parts(&self) -> (u64, &[u8]) {
        match self {
            Self::Inherited => (0, &[]),
            Self::At(path) => (1, path.as_bytes()),
            Self::Home(path) => (2, path.as_bytes()),
        }
    }

    fn of(kind: u64, path: CString) -> Option<Self> {
        match kind {
            0 => Some(Self::Inherited),
            1 => Some(Self::At(path)),
            2 => Some(Self::Home(path)),
            _ => None,
        }
    }
}

/// What a command reads as its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) enum Input {
    /// No input.
    Nothing,
    /// The descriptor that is handed over.
    Handed,
    /// The descriptor that is handed over and leads to the terminal. The command is in the foreground of the terminal
    /// while it runs.
    Terminal,
}

impl Input {
    const ALL: [Self; 3] = [Self::Nothing, Self::Handed, Self::Terminal];

    fn of(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|input| *input as u64 == number)
    }
}

impl GuardRequest {
    /// Encodes the request as bytes.
    pub(in crate::run) fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.bytes(self.name.as_bytes());
        to.list(&self.words, |to, word| to.bytes(word.as_bytes()));
        to.list(&self.env, |to, (name, value)| {
            to.bytes(name.as_bytes());
            to.bytes(value.as_bytes());
        });
        let (kind, path) = self.folder.parts();
        to.number(kind);
        to.bytes(path);
        to.number(u64::from(self.own_session));
        to.list(self.switch.as_slice(), Writer::switch);
        to.number(u64::from(self.no_new_privileges));
        to.number(self.input as u64);
        to.list(self.files.as_slice(), |to, (soft, hard)| {
            to.number(*soft);
            to.number(*hard);
        });
        to.list(self.processes.as_slice(), |to, most| to.number(*most));
        to.duration(self.deadline.0);
        to.duration(self.loss_grace);
        to.0
    }

    /// Decodes a request; `None` if the bytes are not one.
    pub(in crate::run) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = RequestReader(bytes);
        let request = Self {
            name: String::from_utf8(from.bytes()?.to_vec()).ok()?,
            words: from.list(RequestReader::text)?,
            env: from.list(|from| Some((from.text()?, from.text()?)))?,
            folder: Folder::of(from.number()?, CString::new(from.bytes()?).ok()?)?,
            own_session: from.number()? != 0,
            switch: from.list(RequestReader::switch)?.pop(),
            no_new_privileges: from.number()? != 0,
            input: Input::of(from.number()?)?,
            files: from.list(|from| Some((from.number()?, from.number()?)))?.pop(),
            processes: from.list(RequestReader::number)?.pop(),
            deadline: BootInstant(from.duration()?),
            loss_grace: from.duration()?,
        };
        from.0.is_empty().then_some(request)
    }
}

/// Writes numbers as eight bytes, and texts and lists with their lengths in front.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn duration(&mut self, of: Duration) {
        self.number(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn list<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }

    fn switch(&mut self, switch: &Switch) {
        self.list(switch.uid.as_slice(), |to, uid| to.number(uid.as_raw().into()));
        self.number(switch.gid.as_raw().into());
        self.list(switch.groups.as_slice(), |to, groups| {
            to.list(groups, |to, group| to.number(group.as_raw().into()));
        });
    }
}

struct RequestReader<'a>(&'a [u8]);

impl<'a> RequestReader<'a> {
    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let bytes = self.take(8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn duration(&mut self) -> Option<Duration> {
        self.number().map(Duration::from_nanos)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.take(count)
    }

    fn text(&mut self) -> Option<OsString> {
        self.bytes().map(|bytes| OsString::from_vec(bytes.to_vec()))
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn id(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn switch(&mut self) -> Option<Switch> {
        Some(Switch {
            uid: self.list(|from| from.id().map(Uid::from_raw))?.pop(),
            gid: Gid::from_raw(self.id()?),
            groups: self.list(|from| from.list(|from| from.id().map(Gid::from_raw)))?.pop(),
        })
    }
}

/// Whether a text contains a NUL byte: then it can be neither a word nor a variable of a process.
pub(in crate::run) fn has_nul(text: &OsStr) -> bool {
    text.as_bytes().contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> GuardRequest {
        GuardRequest {
            name: "run".into(),
            words: vec!["sh".into(), OsString::from_vec(vec![0xFF, b'x']), "".into()],
            env: vec![("A".into(), "b c".into()), ("EMPTY".into(), "".into())],
            folder: Folder::At(c"/tmp".into()),
            own_session: true,
            switch: Some(Switch {
                uid: Some(Uid::from_raw(7)),
                gid: Gid::from_raw(8),
                groups: Some(vec![Gid::from_raw(9), Gid::from_raw(10)]),
            }),
            no_new_privileges: true,
            input: Input::Terminal,
            files: Some((1_024, 4_096)),
            processes: Some(64),
            deadline: BootInstant(Duration::new(5, 6)),
            loss_grace: Duration::from_millis(1_500),
        }
    }

    #[test]
    fn a_request_comes_out_as_it_went_in() {
        let bare = GuardRequest {
            words: vec!["true".into()],
            env: vec![],
            folder: Folder::Inherited,
            own_session: false,
            switch: None,
            no_new_privileges: false,
            input: Input::Nothing,
            files: None,
            processes: None,
            ..request()
        };
        let group_alone = Switch { uid: None, gid: Gid::from_raw(8), groups: None };
        let at_home = GuardRequest { folder: Folder::Home(c"/home/bob".into()), ..bare.clone() };
        for request in [request(), GuardRequest { switch: Some(group_alone), ..bare.clone() }, at_home, bare]
        {
            assert_eq!(GuardRequest::decode(&request.encode()), Some(request));
        }
    }

    #[test]
    fn a_torn_request_is_none() {
        let bytes = request().encode();
        for length in 0..bytes.len() {
            assert_eq!(GuardRequest::decode(&bytes[..length]), None, "{length} of {}", bytes.len());
        }
        assert_eq!(GuardRequest::decode(&[bytes, vec![0]].concat()), None);
    }
}
