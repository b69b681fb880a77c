//! The memory of the replica and of its guards, where their jobs run as the same user.

use nix::unistd::geteuid;

use crate::process::Scene;
use crate::{file, printed, start_as};

#[test]
fn a_job_of_the_replicas_own_user_reads_neither_its_environment_nor_that_of_its_guard() {
    // Root may read everything: the replica must be somebody else, and only root can start it as that.
    if !geteuid().is_root() {
        return;
    }
    let parent_of = "cut -d\" \" -f4";
    let script = format!(
        "guard=$PPID; maker=$({parent_of} /proc/$guard/stat); replica=$({parent_of} /proc/$maker/stat)\n\
         for one in $guard $maker $replica; do (cat /proc/$one/environ) 2> /dev/null | wc -c; done; echo over"
    );
    let scene = Scene::new(&file("", &format!("shell = '''{script}'''")));
    let mut replica = start_as("4", &scene, &[], &[]);
    assert_eq!(printed(&mut replica), ["0", "0", "0"]);
}
