use super::*;

/// Debian 6.1.0-57-amd64 under QEMU, kernel.sched_schedstats=1, CPU 3 isolated.
const DEBIAN_6_1: &str = "\
version 15
timestamp 4294896296
cpu0 0 0 5787 136 161 105 1060465752 192717197 631
domain0 3 6 6 0 0 0 0 0 6 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
domain1 f 4 4 0 0 0 0 0 4 0 0 0 0 0 0 0 0 1 1 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 1 0 0
cpu3 0 0 582 270 203 141 1776772770 144547812 656
";

/// Debian 6.1 for arm64 under QEMU: more in it.
const DEBIAN_6_1_ARM64: &str = "\
version 15
timestamp 4294896040
cpu2 0 0 328 121 194 100 2438764832 166418352 715
domain1 f 120 114 6 7 0 0 0 90 2 2 0 0 0 0 0 2 9 8 1 1 0 0 0 8 0 0 0 0 0 0 0 0 0 86 1 0
";

/// Debian 6.12 under QEMU.
const DEBIAN_6_12: &str = "\
version 16
timestamp 4294899506
cpu0 0 0 5372 1755 3220 2175 12052084357 2487956007 4276
domain0 3 51 51 0 0 0 0 0 51 2775 2756 16 19 3 0 0 2756 160 159 1 1 0 0 0 159 0 0 0 0 0 0 0 0 0 461 28 0
cpu3 0 0 2 0 2 0 88821276 2142757 15
";

/// Constructed from 6.14's source: no figure appears twice.
const VERSION_17: &str = "\
version 17
timestamp 4386490026
cpu0 1 0 2 3 4 5 6 7 8
domain0 SMT 00000000,00000011 101 102 103 104 105 106 107 108 109 110 111 201 202 203 204 205 206 207 208 209 210 211 \
301 302 303 304 305 306 307 308 309 310 311 401 402 403 0 0 0 0 0 0 404 405 406
domain1 PKG 00000000,000000ff 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
";

fn error(text: &str) -> String {
    schedstat(text).unwrap_err().to_string()
}

#[test]
fn version_15_of_a_machine_with_an_isolated_cpu() {
    let schedstat = schedstat(DEBIAN_6_1).unwrap();
    assert_eq!(
        (schedstat.version, schedstat.timestamp_jiffies),
        (15, 4_294_896_296)
    );
    let [first, isolated] = &schedstat.cpus[..] else {
        panic!("{schedstat:?}")
    };
    assert_eq!(
        first
            .domains
            .iter()
            .map(|domain| domain.domain)
            .collect::<Vec<_>>(),
        [0, 1]
    );
    assert_eq!(first.domains[1].wakeups_remote, 1);
    assert_eq!(first.domains[1].name, None);
    let want = Cpu {
        cpu: 3,
        yields: 0,
        schedules: 582,
        schedules_idle: 270,
        wakeups: 203,
        wakeups_local: 141,
        running_ns: 1_776_772_770,
        waiting_ns: 144_547_812,
        timeslices: 656,
        domains: Vec::new(),
    };
    assert_eq!(*isolated, want);
}

#[test]
fn version_15_has_the_idle_type_first() {
    let domain = &schedstat(DEBIAN_6_1_ARM64).unwrap().cpus[0].domains[0];
    let attempts = [&domain.idle, &domain.busy, &domain.newly_idle].map(|balance| balance.attempts);
    assert_eq!(attempts, [120, 2, 9]);
    let want = Balance {
        attempts: 120,
        balanced: 114,
        failed: 6,
        imbalance_load: 7,
        no_busy_group: 90,
        ..Balance::default()
    };
    assert_eq!(domain.idle, want);
    assert_eq!(
        (
            domain.wakeups_remote,
            domain.moves_affine,
            domain.moves_balance
        ),
        (86, 1, 0)
    );
}

#[test]
fn version_16_has_the_busy_type_first() {
    let schedstat = schedstat(DEBIAN_6_12).unwrap();
    let domain = &schedstat.cpus[0].domains[0];
    let attempts = [&domain.busy, &domain.idle, &domain.newly_idle].map(|balance| balance.attempts);
    assert_eq!(attempts, [51, 2775, 160]);
    let want = Balance {
        attempts: 2775,
        balanced: 2756,
        failed: 16,
        imbalance_load: 19,
        imbalance_kinds: None,
        pulled: 3,
        pulled_hot: 0,
        no_busy_queue: 0,
        no_busy_group: 2756,
    };
    assert_eq!(domain.idle, want);
    assert_eq!((domain.wakeups_remote, domain.moves_affine), (461, 28));
    assert!(schedstat.cpus[1].domains.is_empty());
}

#[test]
fn version_17_has_names_and_kinds_of_imbalance() {
    let of = |hundred: u64| Balance {
        attempts: hundred + 1,
        balanced: hundred + 2,
        failed: hundred + 3,
        imbalance_load: hundred + 4,
        imbalance_kinds: Some(ImbalanceKinds {
            utilization: hundred + 5,
            tasks: hundred + 6,
            misfit: hundred + 7,
        }),
        pulled: hundred + 8,
        pulled_hot: hundred + 9,
        no_busy_queue: hundred + 10,
        no_busy_group: hundred + 11,
    };
    let want = Domain {
        domain: 0,
        name: Some("SMT".to_owned()),
        busy: of(100),
        idle: of(200),
        newly_idle: of(300),
        active_balances: 401,
        active_balances_failed: 402,
        active_balances_pushed: 403,
        wakeups_remote: 404,
        moves_affine: 405,
        moves_balance: 406,
    };
    let schedstat = schedstat(VERSION_17).unwrap();
    assert_eq!(schedstat.cpus[0].domains[0], want);
    assert_eq!(schedstat.cpus[0].domains[1].name.as_deref(), Some("PKG"));
}

#[test]
fn an_unknown_version_gives_its_cpu_lines() {
    let text = VERSION_17
        .replace("version 17", "version 18")
        .replace("SMT", "SMT a b c");
    let schedstat = schedstat(&text).unwrap();
    assert_eq!(schedstat.version, 18);
    assert_eq!(schedstat.cpus[0].timeslices, 8);
    assert!(schedstat.cpus[0].domains.is_empty());
}

#[test]
fn unknown_lines_blank_lines_and_columns_behind_are_passed_over() {
    let text = "version 16\ntimestamp 1\neas 1 2 3\ncpu0 1 0 2 3 4 5 6 7 8 9 x\ncpufreq 1\ndomains 3\n\n\n";
    let schedstat = schedstat(text).unwrap();
    assert_eq!(schedstat.cpus.len(), 1);
    assert_eq!(schedstat.cpus[0].timeslices, 8);
}

#[test]
fn the_largest_numbers_fit() {
    let text = format!("version 16\ncpu4294967295 0 0 0 0 0 0 {} 0 0\n", u64::MAX);
    assert_eq!(schedstat(&text).unwrap().cpus[0].running_ns, u64::MAX);
}

#[test]
fn errors_name_the_line() {
    let domain = DEBIAN_6_12.lines().nth(3).unwrap();
    let head = "version 16\ntimestamp 1\ncpu0 0 0 0 0 0 0 0 0 0\n";
    for (text, want) in [
        ("", "line 1: the file is empty"),
        ("cpu0 1", "line 1: \"cpu0 1\" instead of the version"),
        ("version x\n", "line 1: \"x\" is not a number"),
        ("version 14\n", "line 1: version 14, older than 15"),
        (
            "version 16\ntimestamp -1\n",
            "line 2: \"-1\" is not a number",
        ),
        (
            "version 16\ncpu0 1 0 2 3 4 5 6 7",
            "line 2: 8 numbers for cpu0 instead of 9",
        ),
        (
            "version 16\ncpu0 1 0 2 3 4 5 6 7 8x\n",
            "line 2: \"8x\" is not a number",
        ),
        (
            "version 16\ncpu0 +1 0 2 3 4 5 6 7 8\n",
            "line 2: \"+1\" is not a number",
        ),
        (
            "version 16\ncpu0 0 0 0 0 0 0 18446744073709551616 0 0\n",
            "line 2: \"18446744073709551616\" is over 18446744073709551615",
        ),
        (
            "version 16\ncpu4294967296 0 0 0 0 0 0 0 0 0\n",
            "line 2: \"cpu4294967296\": number too large to fit in target type",
        ),
        (
            &format!("version 16\n{domain}\n"),
            "line 2: a domain before the first CPU",
        ),
        (
            &format!("{head}{domain} 7\n"),
            "line 4: 37 numbers for domain0 instead of 36",
        ),
        (
            &format!("{head}domain0 3 1 2 3\n"),
            "line 4: 3 numbers for domain0 instead of 36",
        ),
        (
            &format!("{head}domain0 \n"),
            "line 4: a domain without a mask",
        ),
        (
            &format!("{head}domain0 SMT 3 1\n"),
            "line 4: \"SMT\" is not a mask of CPUs",
        ),
    ] {
        assert_eq!(error(text), want);
    }
}

#[test]
fn a_text_cut_anywhere_does_not_panic() {
    for text in [DEBIAN_6_1, DEBIAN_6_12, VERSION_17] {
        for end in 0..text.len() {
            let _ = schedstat(&text[..end]);
        }
    }
}

#[test]
fn a_cpu_that_comes_twice_was_published_twice() {
    let line = "cpu0 0 0 0 0 0 0 1 2 3\n";
    let refused = schedstat(&format!("version 17\n{line}{line}")).unwrap_err();
    assert_eq!(refused.to_string(), "line 3: cpu0 is out of order");
}
