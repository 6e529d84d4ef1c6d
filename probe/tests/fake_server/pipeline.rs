//! Many statements in one write: what the server may answer, and when it may read.

use std::io::Write as _;
use std::path::Path;

use probe::config::{self, Config};
use probe::engine::{Failure, Outcome, Timings};

use super::fake::{
    connect, handshake, message, query, read_to_sync, ready, row, server, whole_answer,
};

/// The configuration of `config`'s target with a workload of `statements`, each with `params` parameters.
fn pipeline(config: &Config, statements: u16, params: usize) -> Config {
    let config::Access::Postgres(server) = &config.targets[0].access else {
        panic!("{config:?}")
    };
    let draws = vec!["{int: {uniform: [1000000000000000000, 9000000000000000000]}}"; params];
    let text = format!(
        "targets:\n  - name: t\n    engine: postgres\n    address: {}\n    user: u\n    node: n\n    timeout: {{query: 10s}}\n    \
         workloads: [w]\nworkloads:\n  - name: w\n    query: SELECT 1\n    protocol: {{pipeline: {statements}}}\n    \
         params: [{}]\n    pattern: {{every: 10ms}}\n",
        server.address,
        draws.join(", ")
    );
    config::parse(Path::new("probe.yaml"), &text).unwrap()
}

/// One answer without the end of the reply, `times` over.
fn answers(times: usize) -> Vec<u8> {
    let whole = whole_answer();
    whole[..whole.len() - ready().len()].repeat(times)
}

/// How three statements end that are answered with `answer`.
fn three(answer: Vec<u8>) -> Result<Timings, Failure> {
    let config = server(move |mut stream| {
        handshake(&mut stream);
        while read_to_sync(&mut stream) {
            stream.write_all(&answer).unwrap();
        }
    });
    connect(&pipeline(&config, 3, 0)).0.unwrap().execute(&[])
}

#[test]
fn a_batch_is_answered_as_often_as_it_was_asked() {
    let timings = three([answers(3), ready()].concat()).unwrap();
    assert!(timings.first_row.is_some());
    for number in [2, 4] {
        let failure = three([answers(number), ready()].concat()).unwrap_err();
        let expected = (Outcome::Protocol, false);
        assert_eq!(
            (failure.outcome, failure.usable),
            expected,
            "{number}: {failure}"
        );
    }
    // The server leaves out what follows an error.
    let error = message(b'E', b"SERROR\0VERROR\0C22012\0Mno\0\0");
    let failure = three([answers(1), error, ready()].concat()).unwrap_err();
    assert_eq!(
        (failure.outcome, failure.usable),
        (Outcome::ServerError, true)
    );
}

/// A server that writes all it has before it reads on, while the client does the same, was a deadlock.
#[test]
fn answers_are_taken_while_the_question_is_sent() {
    let config = server(|mut stream| {
        handshake(&mut stream);
        let long = [row().repeat(1 << 20), answers(1000), ready()].concat();
        stream.write_all(&long).unwrap();
        while read_to_sync(&mut stream) {}
    });
    let config = pipeline(&config, 1000, 300);
    let params = vec![i64::MAX; 300_000];
    connect(&config).0.unwrap().execute(&params).unwrap();
}

/// From then on each query would have been given the answer to the one before it.
#[test]
fn an_answer_nobody_asked_for_ends_the_session() {
    let notice = message(b'N', b"SNOTICE\0C00000\0Mhello\0\0");
    for (extra, goes_on) in [
        (whole_answer(), false),
        ([notice.clone(), whole_answer()].concat(), false),
        (notice.clone(), true),
        (notice[..3].to_vec(), true),
        (Vec::new(), true),
    ] {
        let rest = if extra.len() == 3 {
            notice[3..].to_vec()
        } else {
            Vec::new()
        };
        let config = server(move |mut stream| {
            handshake(&mut stream);
            read_to_sync(&mut stream);
            stream
                .write_all(&[whole_answer(), extra.clone()].concat())
                .unwrap();
            if read_to_sync(&mut stream) {
                stream
                    .write_all(&[rest.clone(), whole_answer()].concat())
                    .unwrap();
            }
        });
        let mut session = connect(&config).0.unwrap();
        session.execute(&[]).unwrap();
        match session.execute(&[]) {
            Ok(_) => assert!(goes_on),
            Err(failure) => {
                assert!(!goes_on, "{failure}");
                assert_eq!(
                    (failure.outcome, failure.usable),
                    (Outcome::Protocol, false)
                );
            }
        }
    }
    query(|stream| stream.write_all(&whole_answer()).unwrap()).unwrap();
}
