use super::*;
use crate::histogram::Latency;
use crate::metric::{Metric, Sink};
use prometheus::proto::MetricFamily;
use protobuf::Message as _;

static INFO: Metric<1> = Metric::gauge("test_info", "Says \"who\".", &["name"]);
static SECONDS: Metric<0> = Metric::histogram("test_seconds", "How long.", &[]);

/// What Prometheus 2.42 sends with `--enable-feature=native-histograms`.
const NATIVE: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
     application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,\
     text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
/// What it sends without.
const CLASSIC: &str = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
     text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

#[test]
fn the_accept_headers_of_real_clients_get_what_they_like_best() {
    for (accept, format) in [
        (None, Some(Format::Text)),
        (Some("*/*"), Some(Format::Text)),
        (Some(CLASSIC), Some(Format::Text)),
        (Some(NATIVE), Some(Format::Protobuf)),
        (Some("Text/Plain"), Some(Format::Text)),
        (Some("text/html, text/*;q=0.9"), Some(Format::Text)),
        (
            Some("application/vnd.google.protobuf"),
            Some(Format::Protobuf),
        ),
        (
            Some("application/vnd.google.protobuf;q=0.3,text/plain;q=0.4"),
            Some(Format::Text),
        ),
        (
            Some("application/vnd.google.protobuf;q=0.4,text/plain;q=0.3"),
            Some(Format::Protobuf),
        ),
        (Some("*/*, text/plain;q=0.5"), Some(Format::Text)),
        (
            Some("application/vnd.google.protobuf;encoding=text, text/plain;q=0.1"),
            Some(Format::Text),
        ),
        (
            Some("application/vnd.google.protobuf;proto=other.Message"),
            None,
        ),
        (Some("application/json"), None),
        (Some("text/plain;q=0"), None),
        (Some("text/plain;q=0, */*;q=0.1"), None),
        (Some("image/*"), None),
    ] {
        assert_eq!(Format::negotiate(accept), format, "{accept:?}");
    }
}

/// Native buckets are in the protobuf answer and change no byte of the text.
#[test]
fn protobuf_is_delimited_and_carries_what_text_cannot() {
    let latency = Latency::new();
    latency.observe(35e-6);
    let mut sink = Sink::new();
    sink.put(&INFO, ["a"], 1.0);
    sink.put_histogram(&SECONDS, [], latency.to_proto());
    let families = sink.into_families();

    let bytes = Format::Protobuf.encode(&families).unwrap();
    let mut input = protobuf::CodedInputStream::from_bytes(&bytes);
    let mut read = Vec::<MetricFamily>::new();
    while !input.eof().unwrap() {
        read.push(input.read_message().unwrap());
    }
    let expected: Vec<_> = families.iter().map(Family::to_proto).collect();
    assert_eq!(read, expected);
    let native = |family: &MetricFamily| {
        family.get_metric()[0]
            .get_histogram()
            .unknown_fields()
            .clone()
    };
    assert!(native(&read[1]).get(5).is_some(), "no schema");

    let mut bare = latency.to_proto();
    bare.mut_unknown_fields().clear();
    let mut sink = Sink::new();
    sink.put(&INFO, ["a"], 1.0);
    sink.put_histogram(&SECONDS, [], bare);
    assert_eq!(text(&families), text(&sink.into_families()));
}
