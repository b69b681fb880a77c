//! The command line as it is, and as the pages tell it.

use clap::{Arg, Command, CommandFactory, Parser};
use solocron::cli::Cli;

use crate::markdown::{Page, words};

#[test]
fn every_command_line_is_understood() {
    let mut seen = 0;
    for page in Page::all() {
        for line in page.command_lines() {
            let words = words(&line);
            let own = match words.iter().position(|word| word == "--") {
                Some(at) if words.starts_with(&["cargo".to_owned(), "run".to_owned()]) => &words[at + 1..],
                _ if words.first().is_some_and(|word| word == "solocron") => &words[1..],
                _ => continue,
            };
            let arguments = ["solocron"].into_iter().chain(own.iter().map(String::as_str));
            if let Err(error) = Cli::try_parse_from(arguments) {
                let kind = error.kind();
                assert_eq!(
                    kind,
                    clap::error::ErrorKind::DisplayHelp,
                    "{}: {line}: {error}",
                    page.path.display()
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 30, "only {seen} command lines were found");
}

/// Whether a text has this word, and not only a longer one that begins with it.
fn has(text: &str, word: &str) -> bool {
    text.split(word).skip(1).any(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-'))
}

/// `--since`, or `-n` where there is no long form.
fn flag(arg: &Arg) -> Option<String> {
    let long = arg.get_long().map(|long| format!("--{long}"));
    long.or_else(|| arg.get_short().map(|short| format!("-{short}")))
}

/// What the page of commands lacks of these flags and their variables.
fn missing<'a>(args: impl Iterator<Item = &'a Arg>, text: &str) -> Vec<String> {
    let shown: Vec<&Arg> = args.filter(|arg| !arg.is_hide_set()).collect();
    let flags = shown.iter().filter_map(|arg| flag(arg));
    let variables =
        shown.iter().filter_map(|arg| arg.get_env().map(|name| name.to_string_lossy().into_owned()));
    flags.chain(variables).filter(|word| !has(text, word)).collect()
}

#[test]
fn every_command_and_flag_of_the_help_is_on_the_page_of_commands() {
    let page = Page::read("docs/commands.md");
    let mut cli = Cli::command();
    cli.build();
    let general = page.section(|heading| heading == "For every command").expect("the section").text;
    assert_eq!(missing(cli.get_arguments(), &general), Vec::<String>::new(), "flags of every command");
    let commands: Vec<&Command> = cli.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    assert!(commands.len() > 12, "{commands:?}");
    for command in commands {
        let name = command.get_name();
        let section = page.section(|heading| heading.contains(&format!("`{name}`")));
        let text = section.unwrap_or_else(|| panic!("docs/commands.md has no heading with `{name}`")).text;
        let below = command.get_subcommands().flat_map(Command::get_arguments);
        let own = command.get_arguments().chain(below).filter(|arg| !arg.is_global_set());
        assert_eq!(missing(own, &format!("{general}{text}")), Vec::<String>::new(), "`{name}`");
    }
}
