//! What a job needs of the machine that runs it and this machine does not have: a user, a folder.

use std::path::Path;

use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::sections::section::Section;
use crate::config::sections::shared::Shared;

/// What exists on this machine.
#[derive(Clone, Copy)]
pub struct Machine {
    /// Whether it has a user of this name; true if that cannot be determined.
    pub has_user: fn(&str) -> bool,
    /// Whether it has this folder; true if that cannot be determined.
    pub has_folder: fn(&Path) -> bool,
}

/// Warns if a job, or `[defaults]`, names something that does not exist on this machine, or a relative `cwd`. With
/// `only_on` the machine is not checked, as the job may not be for this one.
pub(crate) fn warn(section: &Section<'_>, own: &Shared, machine: Option<Machine>, findings: &mut Findings) {
    let mut add = |key: &str, message: String, help: String| {
        let place = section.raw(key).map(|raw| raw.span());
        findings.add(Problem::warning(format!("{}: {message}", section.title)).at(place).help(help));
    };
    let machine = machine.filter(|_| own.only_on.is_none());
    if let Some(user) = own.user.as_ref().map(|user| user.value.as_str())
        && machine.is_some_and(|machine| !(machine.has_user)(user))
    {
        let message =
            format!("user `{user}` does not exist on this machine, where no run of the job would start");
        add(
            "user",
            message,
            "create the user on each machine that runs the job, or change `user`".to_owned(),
        );
    }
    let Some(cwd) = own.cwd.as_ref().map(|cwd| Path::new(&cwd.value)) else { return };
    let shown = cwd.display();
    if cwd.is_relative() {
        let message =
            format!("`cwd` is `{shown}`, a path that begins in whatever folder a replica was started in");
        add("cwd", message, format!("write the whole path, such as `/srv/{shown}`"));
    } else if machine.is_some_and(|machine| !(machine.has_folder)(cwd)) {
        let message = format!(
            "`cwd` is `{shown}`, and there is no such folder on this machine, where no run of the job would start"
        );
        add(
            "cwd",
            message,
            "create the folder on each machine that runs the job, or change `cwd`".to_owned(),
        );
    }
}
