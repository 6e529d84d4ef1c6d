//! A machine that QEMU emulates: Debian's kernel, busybox, our exporter, and the steps it has to go through.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tests::program::binary;

use crate::acpi;
use crate::transcript::Transcript;

/// Half a minute on an idle machine; the rest is for one that does other work beside.
const PATIENCE: Duration = Duration::from_secs(330);

/// CPU 3 is left alone, so that what wakes it up is what was asked of it. The clock and the idle loop of an emulated CPU
/// are not put to the tests that they would fail.
const COMMAND_LINE: &str = "console=ttyS0 quiet nokaslr no_timer_check tsc=reliable mitigations=off panic=-1 \
    random.trust_cpu=1 cryptomgr.notests isolcpus=3 nohz_full=3 rcu_nocbs=3 irqaffinity=0 nowatchdog";

/// Boots the kernel in `kernel`, goes through `steps` and returns what they printed.
///
/// # Errors
/// Whatever is missing or goes wrong, as a sentence.
pub(crate) fn run(kernel: &Path, steps: &str) -> Result<Transcript, String> {
    if !kernel.join("release").exists() {
        let dir = kernel.display();
        return Err(format!(
            "no kernel in {dir}: run tests/lab/fetch target/lab"
        ));
    }
    let scratch = tempfile::tempdir().map_err(|error| format!("no scratch directory: {error}"))?;
    let file = |name: &str| scratch.path().join(name);
    let image = initramfs(kernel, steps, scratch.path())?;
    fs::write(file("power.asl"), acpi::source()).unwrap();
    let mut iasl = Command::new("iasl");
    finish(iasl.arg("-p").args([file("power"), file("power.asl")]))?;
    let (console, report) = (file("console"), file("report"));
    let machine = Command::new("qemu-system-x86_64")
        // One thread for all CPUs: with several, QEMU 7.2 at times runs code that the kernel is patching.
        .args([
            "-accel",
            "tcg,thread=single",
            "-M",
            "pc",
            "-m",
            "512",
            "-nodefaults",
            "-no-user-config",
        ])
        // A family that Linux takes for one with hyper-threading.
        .args([
            "-cpu",
            "max,vendor=GenuineIntel,family=6,model=94,stepping=3",
        ])
        .args([
            "-smp",
            &format!("{},sockets=1,cores=2,threads=2", acpi::CPUS),
        ])
        .args(["-no-reboot", "-display", "none", "-append", COMMAND_LINE])
        .args(["-kernel".as_ref(), kernel.join("vmlinux").as_os_str()])
        .args(["-initrd".as_ref(), image.as_os_str()])
        .args([
            "-acpitable",
            &format!("file={}", file("power.aml").display()),
        ])
        .args(["-serial", &format!("file:{}", console.display())])
        .args(["-serial", &format!("file:{}", report.display())])
        .stdin(Stdio::null())
        .spawn();
    let machine = machine.map_err(|error| missing("qemu-system-x86_64", &error))?;
    let ended = wait(Machine(machine));
    let read =
        |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let transcript = Transcript::parse(&read(&report));
    if let (Ok(()), Some(_)) = (&ended, transcript.get("end")) {
        return Ok(transcript);
    }
    let ended = ended
        .err()
        .unwrap_or_else(|| "the machine went off before its last step".to_owned());
    Err(format!(
        "{ended}; its console:\n{}\nits report:\n{}",
        read(&console),
        read(&report)
    ))
}

/// Ends with the value.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait(mut machine: Machine) -> Result<(), String> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        match machine.0.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("QEMU: {status}")),
            Ok(None) => std::thread::sleep(Duration::from_millis(100)),
            Err(error) => return Err(format!("QEMU: {error}")),
        }
    }
    Err(format!(
        "the machine is not through its steps after {PATIENCE:?}"
    ))
}

/// Everything the machine has for files, packed.
fn initramfs(kernel: &Path, steps: &str, scratch: &Path) -> Result<PathBuf, String> {
    let tree = scratch.join("tree");
    let put = |from: &Path, to: &str| {
        let to = tree.join(to.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let copied = fs::copy(from, &to);
        copied.map_err(|error| format!("{}: {error}", from.display()))
    };
    let init = Path::new(env!("CARGO_MANIFEST_DIR")).join("lab/init");
    put(&init, "init")?;
    fs::set_permissions(tree.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    put(Path::new("/bin/busybox"), "bin/busybox")?;
    let programs = [
        (binary("wakelag-exporter"), "bin/wakelag-exporter"),
        (PathBuf::from("/usr/bin/setpriv"), "bin/setpriv"),
    ];
    for (program, to) in programs {
        put(&program, to)?;
        let libraries = finish(Command::new("ldd").arg(&program))?;
        let words = libraries.split_whitespace();
        for library in words.filter(|word| word.starts_with('/')) {
            put(Path::new(library), library)?;
        }
    }
    for module in fs::read_dir(kernel)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if module
            .extension()
            .is_some_and(|extension| extension == "ko")
        {
            put(&module, module.file_name().unwrap().to_str().unwrap())?;
        }
    }
    fs::write(tree.join("steps"), steps).unwrap();
    let pack = "find . | cpio --create --format=newc --quiet > ../initramfs";
    finish(Command::new("sh").args(["-ec", pack]).current_dir(&tree))?;
    Ok(scratch.join("initramfs"))
}

/// What `command` printed.
fn finish(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| missing(&name, &error))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    Err(format!("{name}: {}\n{out}{err}", output.status))
}

fn missing(program: &str, error: &std::io::Error) -> String {
    format!("{program} cannot be started ({error}): tests/run installs what the lab needs")
}
