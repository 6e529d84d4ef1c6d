//! Texts of threads, as Linux 6.18 shows them where nothing else is said.

use super::*;

const STAT: &str = "1207 (postgres) S 1042 1207 1207 0 -1 4194624 1893 0 0 0 41 17 0 0 20 0 1 0 88121 228925440 \
     6021 18446744073709551615 1 1 0 0 0 0 0 19935232 536888066 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

#[test]
fn a_thread_says_who_it_is_and_how_it_is_scheduled() {
    let stat = stat(STAT).unwrap();
    assert_eq!(stat.comm, "postgres");
    assert_eq!(
        (stat.parent, stat.threads, stat.start_ticks),
        (1042, 1, 88_121)
    );
    assert_eq!(stat.policy, 0);
    assert!(!stat.is_kernel);
}

#[test]
fn a_name_with_blanks_and_parentheses_ends_at_the_last_one() {
    for name in [
        "a) b",
        "(a) b)",
        ") 1 2 (",
        "kworker/0:1 (x)",
        "\u{FFFD}",
        "",
    ] {
        let stat = stat(&STAT.replace("postgres", name)).unwrap();
        assert_eq!((stat.comm.as_str(), stat.parent), (name, 1042));
    }
}

#[test]
fn every_policy_has_its_name_and_an_unknown_one_is_refused() {
    for (number, name) in [
        (0, "other"),
        (1, "fifo"),
        (2, "rr"),
        (3, "batch"),
        (5, "idle"),
        (6, "deadline"),
        (7, "ext"),
    ] {
        let text = STAT.replace(" 17 3 0 0 0", &format!(" 17 3 0 {number} 0"));
        let found = policy(stat(&text).unwrap().policy);
        assert_eq!(found.map(|position| POLICIES[position]), Ok(name));
    }
    assert!(policy(4).is_err() && policy(8).is_err());
}

#[test]
fn a_kernel_thread_is_known_by_its_flags() {
    let kernel = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 12 0 0 18446744073709551615 0 0 0 0 0 0 0 \
         2147483647 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    assert!(stat(kernel).unwrap().is_kernel);
}

#[test]
fn a_broken_stat_is_refused() {
    let cut = STAT.split(" 17 3").next().unwrap();
    for bad in [
        "",
        "\n",
        "1 postgres S",
        "1 (a) S 1",
        cut,
        &STAT.replace("88121", "1e5"),
    ] {
        assert!(stat(bad).is_err(), "{bad}");
    }
}

#[test]
fn times_are_three_numbers() {
    assert_eq!(schedstat("348075 69550 1\n"), Ok([348_075, 69_550, 1]));
    assert_eq!(schedstat("0 0 0\n"), Ok([0, 0, 0]));
    for bad in [
        "",
        "1 2\n",
        "1 2 3 4\n",
        "1 -2 3\n",
        "18446744073709551616 0 0\n",
    ] {
        assert!(schedstat(bad).is_err(), "{bad}");
    }
}

#[test]
fn migrations_and_the_slice_are_found_among_the_rest() {
    let text = "a: (b (1207, #threads: 1)\n\
         -------------------------------------------------------------------\n\
         se.exec_start                                :       3775798.920148\n\
         se.nr_migrations                             :                   14\n\
         nr_switches                                  :                  215\n\
         se.slice                                     :              1400000\n\
         current_node=0, numa_group_id=0\n";
    let full = Sched {
        migrations: Some(14),
        slice_ns: Some(1_400_000),
    };
    assert_eq!(sched(text), Ok(full));
    // Before Linux 6.8, and before the first wake-up.
    let old = text.replace("se.slice ", "se.other ");
    assert_eq!(sched(&old).unwrap().slice_ns, None);
    assert_eq!(sched(&text.replace("1400000", "0")).unwrap().slice_ns, None);
    assert_eq!(sched(""), Ok(Sched::default()));
    assert!(sched("se.nr_migrations : x\n").is_err());
    assert!(sched("se.slice : 1.4\n").is_err());
}

#[test]
fn switches_and_allowed_cpus_are_found_among_the_rest() {
    let text = "Name:\tpostgres\nThreads:\t1\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,6\n\
         voluntary_ctxt_switches:\t41\nnonvoluntary_ctxt_switches:\t7\n";
    let full = Status {
        voluntary: 41,
        involuntary: 7,
        allowed_cpus: 5,
    };
    assert_eq!(status(text), Ok(full));
    for gone in [
        "Cpus_allowed_list",
        "voluntary_ctxt_switches",
        "nonvoluntary",
    ] {
        assert!(status(&text.replacen(gone, "other", 1)).is_err(), "{gone}");
    }
    assert!(status(&text.replace("41", "-1")).is_err());
    assert!(status(&text.replace("0-3", "3-0")).is_err());
    assert!(status("").is_err());
}
