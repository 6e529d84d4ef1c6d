//! Command lines as they are and as they could be, `/proc/version` and vulnerabilities of named kernels.

use super::*;

#[test]
fn arguments_that_are_no_setting_are_never_published() {
    // A Debian 12 host with crypto and network arguments, which hold identifiers and secrets.
    let text = "BOOT_IMAGE=/vmlinuz-6.1.0 root=UUID=1b2c3d4e-5f60 ro cryptdevice=/dev/sda2:key=hunter2 \
                intel_idle.max_cstate=1 processor.max_cstate=1 idle=poll nohz_full=1-7 isolcpus=managed_irq,domain,1-7 \
                ip=10.0.0.1 systemd.set_credential=mysql.password:secret processor.nocst quiet\n";
    assert_eq!(
        cmdline(text).unwrap().join(" "),
        "intel_idle.max_cstate=1 processor.max_cstate=1 idle=poll nohz_full=1-7 isolcpus=managed_irq,domain,1-7"
    );
    for secret in [
        "idlepassword=1\n",
        "password=\"a idle=hunter2 b\" quiet\n",
        "cpuidle=1\n",
        "init=/bin/sh -- idle=hunter2\n",
        "x.idle=1\n",
        "=idle\n",
        "",
    ] {
        assert_eq!(cmdline(secret), Ok(vec![]), "{secret:?}");
    }
}

#[test]
fn names_are_spelled_as_the_documentation_has_them() {
    let text = "nosmt nosmt=force intel-idle.states_off=\"4\" cpuidle.off=1 skew-tick=1 tsc=reliable mitigations=off\n";
    assert_eq!(
        cmdline(text).unwrap(),
        [
            "nosmt",
            "nosmt=force",
            "intel_idle.states_off=4",
            "cpuidle.off=1",
            "skew_tick=1",
            "tsc=reliable",
            "mitigations=off"
        ]
    );
}

#[test]
fn a_kernel_says_how_it_was_built_to_preempt() {
    for (text, want) in [
        (
            "Linux version 6.12.73+deb13-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian 6.12.73-1\n",
            Some("dynamic"),
        ),
        (
            "Linux version 6.12.73+deb13-rt-amd64 (x) #1 SMP PREEMPT_RT Debian\n",
            Some("rt"),
        ),
        ("Linux version 6.6.0 (x) #1 SMP PREEMPT Mon\n", Some("full")),
        ("Linux version 5.10.0 (x) #1 SMP Mon\n", None),
        ("", None),
    ] {
        assert_eq!(built_preemption(text), Ok(want), "{text}");
    }
}

#[test]
fn a_vulnerability_is_mitigated_or_not() {
    for (text, want) in [
        ("Not affected\n", Standing::Unaffected),
        (
            "Mitigation: Clear CPU buffers; SMT vulnerable\n",
            Standing::Mitigated,
        ),
        ("KVM: Mitigation: VMX disabled\n", Standing::Mitigated),
        ("KVM: Vulnerable\n", Standing::Vulnerable),
        (
            "Vulnerable: Clear CPU buffers attempted, no microcode\n",
            Standing::Vulnerable,
        ),
        (
            "Unknown: Dependent on hypervisor status\n",
            Standing::Unknown,
        ),
        ("Unknown: No mitigations\n", Standing::Vulnerable),
    ] {
        assert_eq!(standing(text), Ok(want), "{text}");
    }
    for bad in ["", "Mitig\n", "0\n"] {
        assert!(standing(bad).is_err(), "{bad:?}");
    }
}
