use super::*;

#[test]
fn smt_control_is_a_word_or_the_threads_of_a_core() {
    for word in ["on", "off", "forceoff", "notsupported", "notimplemented"] {
        assert_eq!(smt(&format!("{word}\n")), Ok(word.to_owned()));
    }
    assert_eq!(smt("1\n"), Ok("off".to_owned()));
    assert_eq!(smt("2\n"), Ok("on".to_owned()));
    assert!(smt("maybe\n").is_err());
    assert!(smt("").is_err());
}
