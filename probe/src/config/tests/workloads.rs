//! What a configuration may say of workloads.

use super::*;

#[test]
fn a_bad_workload_is_refused_where_it_is_bad() {
    let cases = [
        (
            "name: select1\n    query: q\n    pattern: {every: 0}\n",
            "6:11: `select1` is a preset; choose another name",
        ),
        (
            "name: w w\n    query: q\n    pattern: {every: 0}\n",
            "6:11: workloads[0].name: `w w` is not a name; use up to 63 letters, digits, `.`, `-` and `_`, a letter or digit first",
        ),
        (
            "name: w\n    query: ''\n    pattern: {every: 0}\n",
            "7:12: the query is empty",
        ),
        (
            "name: w\n    query: q\n    pattern: {every: 0, queries: 0}\n",
            "8:34: queries must be 1 to 1000",
        ),
        (
            "name: w\n    query: q\n    pattern: {every: 0}\n    lanes: 65\n",
            "9:12: lanes must be 1 to 64",
        ),
        (
            "name: w\n    query: q\n    pattern: {every: 0}\n    params: [{int: {uniform: [2, 1]}}]\n",
            "9:14: uniform: the first bound is above the second",
        ),
        (
            "name: w\n    query: q\n    pattern: {every: 0}\n    protocol: spin\n",
            "9:15: workloads[0].protocol: `spin` is no protocol; write prepared, simple or {pipeline: 100}",
        ),
        (
            "name: w\n    query: q\n    pattern: {every: 0}\n    protocol: {pipeline: 1001}\n",
            "9:26: a pipeline has 1 to 1000 statements",
        ),
        (
            "name: w\n    query: q\n    pattern: {every: 0}\n    protocol: {pipeline: 2, sync: 1}\n",
            "9:15: workloads[0].protocol: unknown field `sync`, expected `pipeline`",
        ),
        (
            "name: w\n    query: q\n    pattern: {every: 0}\n    protocol: {}\n",
            "9:15: workloads[0].protocol: missing field `pipeline`",
        ),
        (
            "name: w\n    query: q\n",
            "6:5: workloads[0]: missing field `pattern`",
        ),
        (
            "name: w\n    query: q\n    pattern: {every: 0}\n  - name: w\n    query: q\n    pattern: {every: 0}\n",
            "9:11: a second workload is named `w`",
        ),
    ];
    for (rest, expected) in cases {
        let head = "targets:\n  - {name: f, engine: sqlite, path: p, workloads: [select1]}\n\n# comment\nworkloads:\n  - ";
        assert_eq!(
            message(&format!("{head}{rest}")),
            format!("probe.yaml:{expected}")
        );
    }
}

#[test]
fn a_pipeline_is_for_an_engine_that_has_one() {
    let file = |engine: &str| {
        format!(
            "targets:\n  - {{name: f, {engine}, workloads: [w]}}\nworkloads:\n  - name: w\n    query: q\n    \
             protocol: {{pipeline: 100}}\n    pattern: {{every: 0}}\n"
        )
    };
    let postgres = file("engine: postgres, user: u, address: 'unix:/s'");
    let config = parse(Path::new("probe.yaml"), &postgres).unwrap();
    let protocol = config.targets[0].workloads[0].statement.protocol;
    assert_eq!(protocol, crate::workload::Protocol::Pipeline(100));
    assert_eq!(
        message(&file("engine: sqlite, path: p")),
        "probe.yaml:2:52: workload `w` is a pipeline, which only postgres has"
    );
}
