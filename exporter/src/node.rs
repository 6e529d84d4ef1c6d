//! Which host this is.
//!
//! Source: uname(2); `/proc/sys/kernel/{hostname,osrelease,arch}`; `/proc/cpuinfo`, `/sys/class/dmi/id/{sys_vendor,product_name}`, read once at the start and never
//! again: before Linux 5.19 opening cpuinfo interrupts every CPU.
//! Kernel: all; `arch` since 6.1.
//! Absent: a fact that is not known is empty.
//! Denied: nothing.
//! Cost: A after the start.

use toolkit::metric::{Desc, Metric, Sink};

use crate::parse::{self, ParseError};
use crate::root::{Paths, Root};

static NODE_INFO: Metric<5> = Metric::gauge(
    "wakelag_node_info",
    "The host, its kernel release, CPU model, architecture and what virtualizes it (none on hardware).",
    &[
        "node",
        "release",
        "cpu_model",
        "architecture",
        "virtualization",
    ],
);

/// What is published of the host.
pub static METRICS: &[&Desc] = &[NODE_INFO.desc()];

/// Who makes virtual machines, by what the firmware says.
const HYPERVISORS: [(&str, &str); 8] = [
    ("QEMU", "kvm"),
    ("KVM", "kvm"),
    ("Amazon EC2", "kvm"),
    ("Google", "kvm"),
    ("VMware", "vmware"),
    ("Microsoft", "hyperv"),
    ("Xen", "xen"),
    ("innotek", "virtualbox"),
];

/// A host's facts.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name: the join key of dashboards and rules.
    pub name: String,
    release: String,
    cpu_model: String,
    architecture: String,
    virtualization: String,
    /// A container runtime has laid an empty directory over the energy counters.
    hides_powercap: bool,
}

/// What `/proc/cpuinfo` says of the first CPU.
#[derive(Debug, Default, PartialEq, Eq)]
struct CpuInfo {
    model: String,
    /// Not said where CPUs have no such flag, as on ARM.
    hypervisor: Option<bool>,
}

impl Node {
    /// Asks the host who it is; `name` wins over its own name.
    pub fn read(paths: &Paths, name: Option<String>) -> Self {
        let root = Root::new(paths.clone());
        let uname = nix::sys::utsname::uname().ok();
        let said = |field: Option<&std::ffi::OsStr>| {
            field.map_or_else(String::new, |text| text.to_string_lossy().into_owned())
        };
        // Below another root the kernel's own files speak for that host.
        let proc = |file| root.optional(root.parse_once(root.proc(file), parse::word));
        let dmi = |file| {
            let file = root.sys(&format!("class/dmi/id/{file}"));
            root.parse_once(file, parse::word).unwrap_or_default()
        };
        let cpuinfo = root.parse_once(root.proc("cpuinfo"), cpuinfo);
        let cpuinfo = root.optional(cpuinfo).unwrap_or_default();
        let firmware = format!("{} {}", dmi("sys_vendor"), dmi("product_name"));
        let own_name = || {
            proc("sys/kernel/hostname")
                .unwrap_or_else(|| said(uname.as_ref().map(|u| u.nodename())))
        };
        Node {
            name: name.unwrap_or_else(own_name),
            release: proc("sys/kernel/osrelease")
                .unwrap_or_else(|| said(uname.as_ref().map(|u| u.release()))),
            architecture: proc("sys/kernel/arch")
                .unwrap_or_else(|| said(uname.as_ref().map(|u| u.machine()))),
            hides_powercap: hides_powercap(&root),
            virtualization: virtualization(&firmware, cpuinfo.hypervisor).to_owned(),
            cpu_model: cpuinfo.model,
        }
    }

    /// Whether this is a virtual machine, as far as processor and firmware say.
    pub fn is_virtual(&self) -> bool {
        self.virtualization != "none"
    }

    /// Whether the CPUs are ARM's.
    pub fn is_arm(&self) -> bool {
        self.architecture.starts_with("aarch64") || self.architecture.starts_with("arm")
    }

    /// Whether energy counters are there and hidden from this process.
    pub fn hides_powercap(&self) -> bool {
        self.hides_powercap
    }

    /// Publishes the host.
    pub fn emit(&self, out: &mut Sink) {
        let labels = [
            &*self.name,
            &*self.release,
            &*self.cpu_model,
            &*self.architecture,
            &*self.virtualization,
        ];
        out.put(&NODE_INFO, labels, 1.0);
    }
}

/// Container runtimes mask the directory that has the zones; the class still names them, by links that lead nowhere.
fn hides_powercap(root: &Root) -> bool {
    let names = |dir| root.names(dir).unwrap_or_default();
    let named = names("class/powercap");
    named.iter().any(|name| name == "intel-rapl") && names("class/powercap/intel-rapl").is_empty()
}

/// The makers of hypervisors make machines too (`m5.metal`): where the CPU can say that there is none, it is believed.
fn virtualization(firmware: &str, hypervisor: Option<bool>) -> &'static str {
    let known = HYPERVISORS.iter().find(|(word, _)| firmware.contains(word));
    match (hypervisor, known) {
        (Some(false), _) | (None, None) => "none",
        (_, Some((_, name))) => name,
        (Some(true), None) => "other",
    }
}

/// `/proc/cpuinfo`, of which only the first CPU matters here.
fn cpuinfo(text: &str) -> Result<CpuInfo, ParseError> {
    let mut info = CpuInfo::default();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        match key.trim() {
            "model name" if info.model.is_empty() => info.model = value.trim().to_owned(),
            "flags" => {
                info.hypervisor = Some(value.split_ascii_whitespace().any(|f| f == "hypervisor"));
                break;
            }
            _ => {}
        }
    }
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cpu_speaks_for_all() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC 7R13 Processor\nflags\t\t: fpu hypervisor lm\n\nprocessor\t: 1\n";
        let info = cpuinfo(text).unwrap();
        assert_eq!(info.model, "AMD EPYC 7R13 Processor");
        assert_eq!(info.hypervisor, Some(true));
        assert_eq!(cpuinfo("").unwrap(), CpuInfo::default());
    }

    #[test]
    fn firmware_names_the_hypervisor() {
        assert_eq!(virtualization("Amazon EC2 m7i.large", Some(true)), "kvm");
        assert_eq!(virtualization("Amazon EC2 m7g.large", None), "kvm");
        assert_eq!(
            virtualization("Dell Inc. PowerEdge R750", Some(false)),
            "none"
        );
        assert_eq!(virtualization("", Some(true)), "other");
        assert_eq!(virtualization("", None), "none");
    }

    #[test]
    fn a_machine_of_a_maker_of_hypervisors_is_no_virtual_one() {
        for firmware in [
            "Amazon EC2 m5.metal",
            "Microsoft Corporation Surface Pro",
            "Google",
        ] {
            assert_eq!(virtualization(firmware, Some(false)), "none");
        }
    }
}
