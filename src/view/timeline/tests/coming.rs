//! Ticks to come.

use super::*;

/// The place, the width and the title of each tick to come.
fn shown(picture: &Picture) -> Vec<(usize, u16, u16, &str)> {
    let coming = picture.marks.iter().filter(|mark| matches!(mark.shape, MarkShape::Coming { .. }));
    coming.map(|mark| (mark.lane, mark.x, mark.width, mark.title.as_str())).collect()
}

#[test]
fn ticks_to_come_are_as_wide_as_their_run_usually_takes() {
    let mut known = Known::nothing();
    known.usual = Some(Duration::from_secs(41));
    let picture = known.by_job();
    assert_eq!(
        shown(&picture),
        [
            (0, 975, 10, "`backup` comes at 12:05:00; it usually takes 41s"),
            (0, 1050, 10, "`backup` comes at 12:10:00; it usually takes 41s"),
            (0, 1125, 10, "`backup` comes at 12:15:00; it usually takes 41s"),
            (0, 1200, 2, "`backup` comes at 12:20:00; it usually takes 41s"),
            (1, 1125, 10, "`payout` comes at 12:15:00; it usually takes 41s"),
        ]
    );
    let by_replica = known.by_replica();
    assert!(shown(&by_replica).iter().all(|(lane, ..)| *lane == 2));
    assert_eq!(by_replica.lanes[2].summary, "5 coming");
    known.usual = None;
    let picture = known.by_job();
    assert_eq!(shown(&picture)[0], (0, 975, 2, "`backup` comes at 12:05:00"));
}

#[test]
fn a_job_that_is_paused_or_disabled_has_no_ticks_to_come() {
    let pausing =
        |until: Option<i64>| Pausing { until: until.map(at), at: at(-60), by: String::new(), why: None };
    for (until, places) in [
        (Some(600), &[1_050, 1_125, 1_200][..]),
        (Some(601), &[1_125, 1_200]),
        (Some(-10), &[975, 1_050, 1_125, 1_200]),
        (None, &[975, 1_050, 1_125, 1_200]),
        (Some(100_000), &[]),
    ] {
        let mut known = Known::nothing();
        known.specs.truncate(1);
        known.pausing.push(("backup".parse().expect("a name"), pausing(until)));
        let picture = known.by_job();
        assert_eq!(shown(&picture).iter().map(|mark| mark.1).collect::<Vec<_>>(), places, "{until:?}");
    }
    let disabled = FILE.replace("[\"backup\"]", "[\"backup\"]\nenabled = false");
    assert!(shown(&Known::of(&disabled).by_job()).iter().all(|(lane, ..)| *lane == 1));
}

#[test]
fn a_job_that_comes_very_often_has_one_mark_for_all() {
    let often = FILE.replace("\"*/5 * * * *\"", "\"* * * * * *\"");
    let picture = Known::of(&often).by_job();
    let backup: Vec<&TimelineMark> = picture.marks.iter().filter(|mark| mark.lane == 0).collect();
    assert_eq!(backup.len(), 1);
    assert_eq!(backup[0].shape, MarkShape::Coming { is_folded: true });
    assert_eq!((backup[0].x, backup[0].width), (900, 300));
    assert_eq!(backup[0].title, "`backup` comes from 12:00:01 on, again and again");
}

#[test]
fn of_many_jobs_those_that_come_first_are_drawn() {
    let job = |number: usize| {
        let minute = 1 + number / 100;
        format!("[jobs.j{number:03}]\nschedule = \"{minute} 12 * * *\"\ncommand = [\"x\"]\n")
    };
    let file =
        "[cluster]\nname = \"x\"\nstore = \"local\"\n".to_owned() + &(0..300).map(job).collect::<String>();
    let picture = Known::of(&file).by_replica();
    let coming = shown(&picture);
    assert_eq!(coming.len(), 200);
    assert!(coming.iter().all(|(_, x, ..)| *x <= 930), "the third minute does not fit");
}
