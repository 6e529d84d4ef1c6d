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

#[test]
fn the_preemption_in_force_stands_in_parentheses() {
    assert_eq!(preempt("none (voluntary) full \n"), Ok("voluntary".into()));
    assert_eq!(preempt("none voluntary full (lazy) \n"), Ok("lazy".into()));
    assert_eq!(preempt("(full) lazy \n"), Ok("full".into()));
    for bad in ["", "none voluntary full\n", "(undefined)\n", "(full"] {
        assert!(preempt(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn features_that_are_off_have_no_in_front() {
    let text = "PLACE_LAG NO_NEXT_BUDDY NONTASK_CAPACITY \n";
    let on_and_off = features(text).unwrap();
    let want = [
        ("PLACE_LAG", true),
        ("NEXT_BUDDY", false),
        ("NONTASK_CAPACITY", true),
    ];
    assert_eq!(on_and_off, want.map(|(name, on)| (name.to_owned(), on)));
    for bad in ["", "\n", "place_lag\n", "PLACE_LAG\0\n"] {
        assert!(features(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_digest_tells_features_apart() {
    let of = |text| digest(&features(text).unwrap());
    assert_eq!(of("PLACE_LAG NO_HRTICK\n"), of("PLACE_LAG NO_HRTICK"));
    assert_ne!(of("PLACE_LAG NO_HRTICK\n"), of("PLACE_LAG HRTICK"));
    assert_ne!(of("AB C"), of("A BC"));
    // FNV-1a of " A", so that no version of this program calls the same features by another name.
    assert_eq!(of("A"), "90c57e9a");
}

#[test]
fn a_feature_that_comes_twice_was_published_twice() {
    for bad in ["PLACE_LAG PLACE_LAG\n", "PLACE_LAG NO_PLACE_LAG\n"] {
        assert!(features(bad).is_err(), "{bad:?}");
    }
}
