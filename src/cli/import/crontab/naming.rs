//! Makes names for jobs from their commands: what a person would call them, as far as a few rules can find that out. An
//! argument is used only if it cannot be a secret.

use std::collections::BTreeSet;

/// The length of the longest name, so that a number still fits behind it.
const LONGEST: usize = 48;

/// The name for a command without a usable word.
const NAMELESS: &str = "job";

/// Commands that prepare for the one that matters, or come after it.
const PREPARATIONS: &[&str] = &[
    "cd", "test", "[", "[[", "sleep", "true", ":", "export", "source", ".", "set", "umask", "ulimit", "echo",
    "pushd", "mkdir", "exit", "fi", "done",
];

/// Words of the shell that a command follows.
const BEFORE_COMMANDS: &[&str] = &["if", "then", "elif", "else", "while", "until", "do"];

/// Programs that run another one, which is named among their arguments.
const WRAPPERS: &[&str] = &[
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "timeout",
    "time",
    "chronic",
    "stdbuf",
    "exec",
    "command",
    "env",
    "sudo",
    "doas",
    "flock",
    "setsid",
    "nohup",
    "cronic",
    "systemd-cat",
    "lockf",
    "setlock",
];

/// Programs that run the script in their arguments.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "ash", "ksh", "zsh", "fish", "python", "python2", "python3", "perl", "php", "ruby",
    "node",
];

/// Endings of file names that name the language.
const EXTENSIONS: &[&str] = &[".sh", ".bash", ".py", ".pl", ".rb", ".php", ".js", ".cron", ".jar"];

/// The names that are taken.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Returns a name that no other job has.
    pub(super) fn name(&mut self, command: &str) -> String {
        let name = suggestion(command);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.0.contains(name));
        let free = free.expect("there are more numbers than jobs");
        self.0.insert(free.clone());
        free
    }
}

/// Returns the name that the command suggests.
fn suggestion(command: &str) -> String {
    // The `&` of `2>&1` does not end a command.
    let command = command.replace(">&", "> ");
    let parts: Vec<Vec<&str>> =
        command.split(['&', '|', ';', '\n']).map(words).filter(|part| !part.is_empty()).collect();
    let does_work = |part: &&Vec<&str>| !PREPARATIONS.contains(&file_name(part[0]));
    let Some(part) = parts.iter().find(does_work).or(parts.first()) else { return NAMELESS.to_owned() };
    let program = program(part);
    let mut name = plain(part[program]);
    let argument =
        part.get(program + 1..).and_then(argument).map(plain).filter(|argument| !argument.is_empty());
    if let Some(argument) = argument.filter(|argument| *argument != name) {
        name = if name.is_empty() { argument } else { format!("{name}-{argument}") };
    }
    name.truncate(LONGEST);
    match name.trim_end_matches('-') {
        "" => NAMELESS.to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the words of one command, without redirections, brackets, and variables that are set for it.
fn words(part: &str) -> Vec<&str> {
    let part = part.split(['<', '>']).next().unwrap_or_default();
    let words =
        part.split_whitespace().map(|word| word.trim_matches(['(', ')', '{', '}', '\'', '"', '`', '!']));
    words
        .filter(|word| !word.is_empty())
        .skip_while(|word| is_assignment(word) || BEFORE_COMMANDS.contains(word))
        .collect()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns the index of the word that names the program.
fn program(words: &[&str]) -> usize {
    let mut at = 0;
    loop {
        let name = file_name(words[at]);
        let is_wrapper = WRAPPERS.contains(&name);
        if !is_wrapper && !INTERPRETERS.contains(&name) {
            return at;
        }
        // Among a wrapper's own arguments, a path may be a lock file, and a number may be a time.
        let is_next = |word: &str| {
            !word.starts_with('-') && !is_assignment(word) && !word.starts_with(|c: char| c.is_ascii_digit())
        };
        let is_lock = |word: &str| {
            name == "flock"
                && (word.contains("/lock") || word.ends_with(".lock") || word.starts_with("/tmp/"))
        };
        let next = (at + 1..words.len()).find(|next| is_next(words[*next]) && !is_lock(words[*next]));
        match next {
            Some(next) => at = next,
            None => return at,
        }
    }
}

/// Returns the argument that tells what the program does: the next word if it is not an option, or else the first path. The
/// value of an option could be a password.
fn argument<'a>(words: &[&'a str]) -> Option<&'a str> {
    let next = *words.first()?;
    let is_plain = next.starts_with(|c: char| c.is_ascii_alphabetic())
        && next.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
    if is_plain {
        return Some(next);
    }
    words.iter().copied().find(|word| word.starts_with('/'))
}

fn file_name(word: &str) -> &str {
    word.trim_end_matches('/').rsplit('/').next().unwrap_or(word)
}

/// Returns the part of a word that a job's name can have.
fn plain(word: &str) -> String {
    let word = file_name(word);
    let word = EXTENSIONS.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let mut name = String::new();
    for c in word.chars() {
        match c {
            _ if c.is_ascii_alphanumeric() || c == '_' => name.push(c),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    name.trim_matches(['-', '_']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_is_run() {
        for (command, name) in [
            ("/usr/local/bin/backup.sh >/dev/null 2>&1", "backup"),
            ("/usr/local/bin/backup.sh daily", "backup-daily"),
            ("cd / && run-parts --report /etc/cron.hourly", "run-parts-cron-hourly"),
            (
                "test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }",
                "run-parts-cron-daily",
            ),
            (
                "test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.weekly )",
                "run-parts-cron-weekly",
            ),
            ("[ -x /a ] && if [ ! -d /b ]; then /usr/lib/php/sessionclean; fi", "sessionclean"),
            ("certbot -q renew", "certbot"),
            ("certbot renew -q", "certbot-renew"),
            ("A=1 B='2' nice -n 10 /opt/report", "report"),
            ("flock -n /tmp/x.lock sudo -E php /srv/app/artisan.php schedule:run", "artisan-schedule-run"),
            ("timeout 5m bash -c '/opt/sync.sh'", "sync"),
            ("python3 -m reports", "reports"),
            ("find /var/tmp -mtime +3 -delete", "find-tmp"),
            ("curl -s -u bob:hunter2 https://x.example/ping", "curl"),
            ("mysqldump --password hunter2 app", "mysqldump"),
            ("(cd /srv; ./run)", "run"),
            ("cd /srv 2>&1 && ./run", "run"),
            ("\"/opt/a b/run\"", "a"),
            ("$HOME/bin/x.py", "x"),
            ("*", "job"),
            ("é", "job"),
            (">", "job"),
            ("bash", "bash"),
            ("cd /tmp", "cd-tmp"),
        ] {
            assert_eq!(suggestion(command), name, "{command}");
        }
    }

    #[test]
    fn no_two_jobs_have_the_same_name() {
        let mut names = Names::default();
        let given = ["a-2", "a", "a", "a", "a 2"].map(|command| names.name(command));
        assert_eq!(given, ["a-2", "a", "a-3", "a-4", "a-5"]);
        let long = "x".repeat(200);
        assert_eq!([names.name(&long).len(), names.name(&long).len()], [48, 50]);
    }
}
