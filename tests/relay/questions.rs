//! Questions that no asker left, and wakes that no store sent.

use std::time::Duration;

use solocron::job::{JobName, NodeName, RunId};
use solocron::relay::{OutputAnswer, OutputEnd, OutputQuestion};
use solocron::run::LogStart;
use solocron::store::{Slip, Store};
use tokio::time::{sleep, timeout};

use crate::process::DEADLINE;
use crate::stage::{Stage, texts};

const TTL: Duration = Duration::from_secs(10);

const REFUSED: &str = "solocron_output_questions_total{result=\"refused\"}";
const ANSWERED: &str = "solocron_output_questions_total{result=\"answered\"}";

fn question(asker: RunId, job: &str) -> String {
    let job = JobName::parse(job).expect("a name");
    let question = OutputQuestion {
        asker,
        number: 1,
        job,
        run: RunId::new(),
        start: LogStart::Byte(0),
        up_to_now: false,
    };
    serde_json::to_string(&question).expect("a question is JSON")
}

/// Waits for the end of the answers to this asker.
async fn end_of(store: &dyn Store, asker: RunId) -> Option<OutputEnd> {
    let ends = async {
        loop {
            for text in store.collect(&Slip::Tell(asker)).await.expect("the store answers") {
                let answer: OutputAnswer = serde_json::from_str(&text).expect("an answer");
                assert_eq!((answer.bytes.len(), answer.size), (0, 0), "{text}");
                if answer.end.is_some() {
                    return answer.end;
                }
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, ends).await.expect("an end")
}

pub(crate) fn what_no_asker_left_is_dropped_and_counted(mut stage: Stage) {
    stage.start("", "echo hello");
    stage.run_to_its_end();
    let good = question(RunId::new(), "talk");
    let bad = [
        String::new(),
        "{}".to_owned(),
        "x".repeat(20_000),
        good.replace("talk", "../../../etc"),
        good.replace("\"talk\"", "[]"),
        good.replace("byte", "bytes"),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (store, slip) = (stage.open(), Slip::Ask(NodeName::parse("n2").expect("a name")));
        let connected = async {
            while store.ready().await.is_err() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(DEADLINE, connected).await.expect("a connection");
        for text in &bad {
            store.leave(&slip, text, TTL).await.expect("it is left");
        }
        let stranger = RunId::new();
        store.leave(&slip, &question(stranger, "talk"), TTL).await.expect("it is left");
        assert_eq!(end_of(&*store, stranger).await, Some(OutputEnd::Absent), "it has no such run");
        let greedy = question(RunId::new(), "talk");
        for _ in 0..40 {
            store.leave(&slip, &greedy, TTL).await.expect("it is left");
        }
    });
    stage.eventually("counted", || (stage.counted(REFUSED) == 14.0).then_some(()));
    assert!(stage.counted(ANSWERED) >= 1.0);
    assert_eq!(texts(&stage.give(&["logs", "talk"]).expect_code(0).log), ["hello"], "it answers others");
    stage.stop();
}

pub(crate) fn forged_wakes_change_nothing(mut stage: Stage) {
    stage.start("", "echo hello");
    stage.run_to_its_end();
    let publish = "for i = 1, 20000 do redis.call('PUBLISH', KEYS[1], 'ask n2') end";
    let server = stage.server.as_ref().expect("a server");
    server.cli(&["EVAL", publish, "1", "solocron:{test}:wake:0"]);
    server.cli(&["PUBLISH", "solocron:{test}:wake:0", "ask ../n2"]);
    assert_eq!(texts(&stage.give(&["logs", "talk"]).expect_code(0).log), ["hello"]);
    assert_eq!(stage.counted(REFUSED), 0.0);
    stage.stop();
}
