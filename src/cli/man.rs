//! `man`: one manual page with every command and its flags, on stdout.

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::args::Cli;
use super::exit::{Exit, Failure};
use super::screen::Screen;

/// Prints the manual page.
pub(crate) fn run(screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let page = page().expect("a page can be written to memory");
    screen.print_bytes(&page)?;
    Ok(Exit::Done)
}

fn page() -> io::Result<Vec<u8>> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        page.extend_from_slice(section(subcommand)?.as_bytes());
    }
    man.render_extra_section(&mut page)?;
    let page = String::from_utf8_lossy(&page).replace(" EXTRA", " NOTES");
    Ok(page.into_bytes())
}

/// A command as a section of the page. Flags of every command stand once, at the top.
fn section(command: &Command) -> io::Result<String> {
    let own = command.clone().mut_args(|arg| {
        let is_hidden = arg.is_hide_set() || arg.is_global_set();
        arg.hide(is_hidden)
    });
    let has_options = own.get_arguments().any(|arg| !arg.is_hide_set());
    let man = Man::new(own);
    let mut parts = Vec::new();
    man.render_synopsis_section(&mut parts)?;
    man.render_description_section(&mut parts)?;
    if has_options {
        man.render_options_section(&mut parts)?;
    }
    if command.get_after_help().is_some() {
        man.render_extra_section(&mut parts)?;
    }
    let parts = String::from_utf8_lossy(&parts).replace(".SH ", ".SS ");
    Ok(format!(".SH \"SOLOCRON {}\"\n{parts}", command.get_name().to_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_command_with_its_own_flags_and_the_common_ones_once() {
        let page = String::from_utf8(page().expect("in memory")).expect("roff is text");
        for command in Cli::command().get_subcommands() {
            let heading = format!(".SH \"SOLOCRON {}\"", command.get_name().to_uppercase());
            assert_eq!(page.matches(&heading).count(), 1, "{heading}");
        }
        assert!(page.contains("\\-\\-since"), "{page}");
        // Once in the synopsis, once among the options.
        assert_eq!(page.matches("\\fB\\-\\-config\\fR").count(), 2, "{page}");
        assert!(!page.contains("supervised"), "hidden flags stay hidden");
    }
}
