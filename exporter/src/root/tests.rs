//! Files that are kept, files that are long, files that are not there.

use super::*;
use crate::parse;

fn root(dir: &Path) -> Root {
    Root::new(Paths::new(
        dir.join("proc"),
        dir.join("sys"),
        dir.join("dev"),
    ))
}

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sys")).unwrap();
    std::fs::create_dir_all(dir.path().join("proc")).unwrap();
    dir
}

#[test]
fn a_kept_file_is_read_again_without_being_opened_again() {
    let dir = tree();
    let path = dir.path().join("sys/usage");
    std::fs::write(&path, "1\n").unwrap();
    let root = root(dir.path());
    let mut file = root.sys("usage");
    assert_eq!(root.parse(&mut file, parse::number), Ok(1));
    std::fs::write(&path, "2\n").unwrap();
    assert_eq!(root.parse(&mut file, parse::number), Ok(2));
    assert_eq!(root.paths.open_files(), 1);
    drop(file);
    assert_eq!(root.paths.open_files(), 0);
}

#[test]
fn a_file_longer_than_the_buffer_is_read_whole() {
    let dir = tree();
    let long = "cpu0 1 2 3\n".repeat(2000);
    std::fs::write(dir.path().join("proc/stat"), &long).unwrap();
    std::fs::write(dir.path().join("sys/long"), &long).unwrap();
    let root = root(dir.path());
    for mut file in [root.proc("stat"), root.sys("long")] {
        let read = root.parse(&mut file, |text| Ok(text.len()));
        assert_eq!(read, Ok(long.len()));
    }
}

#[test]
fn errors_name_the_file_and_what_is_wrong() {
    let dir = tree();
    std::fs::write(dir.path().join("sys/usage"), "many\n").unwrap();
    let root = root(dir.path());
    let missing = root
        .parse(&mut root.sys("none"), parse::number)
        .unwrap_err();
    assert_eq!(missing.errno(), Some(Errno::ENOENT));
    assert!(
        missing
            .to_string()
            .ends_with("sys/none: No such file or directory")
    );
    let bad = root
        .parse(&mut root.sys("usage"), parse::number)
        .unwrap_err();
    assert!(
        bad.to_string()
            .contains("sys/usage:1: \"many\" is not a number"),
        "{bad}"
    );
}

#[test]
fn what_is_optional_may_be_absent_but_not_broken() {
    let dir = tree();
    std::fs::write(dir.path().join("sys/bad"), "x\n").unwrap();
    let root = root(dir.path());
    assert_eq!(
        root.optional(root.parse_once(root.sys("none"), parse::number)),
        None
    );
    assert!(root.take_tolerated().is_empty());
    assert_eq!(
        root.optional(root.parse_once(root.sys("bad"), parse::number)),
        None
    );
    assert_eq!(root.take_tolerated().len(), 1);
    assert!(root.take_tolerated().is_empty());
}

#[test]
fn what_only_root_may_read_is_forgone_and_said_but_what_is_broken_is_not() {
    let dir = tree();
    let root = root(dir.path());
    let denied = Error::Read {
        path: dir.path().join("sys/kernel/debug/sched/preempt"),
        errno: Errno::EACCES,
    };
    assert_eq!(root.permitted::<u64>(Err(denied.clone())), None);
    assert!(root.take_tolerated().is_empty());
    assert_eq!(root.take_forgone(), [denied.to_string()]);
    std::fs::write(dir.path().join("sys/bad"), "x\n").unwrap();
    let bad = root.parse_once(root.sys("bad"), parse::number);
    assert_eq!(root.permitted(bad), None);
    assert_eq!(root.take_tolerated().len(), 1);
    assert!(root.take_forgone().is_empty());
}

#[test]
fn a_device_is_not_kept_open() {
    let dir = tree();
    std::fs::create_dir_all(dir.path().join("dev")).unwrap();
    std::fs::write(dir.path().join("dev/cpu_dma_latency"), [10, 0, 0, 0]).unwrap();
    let root = root(dir.path());
    let mut device = root.dev("cpu_dma_latency");
    let bytes = root.parse_bytes(&mut device, |bytes| Ok(bytes.to_vec()));
    assert_eq!(bytes, Ok(vec![10, 0, 0, 0]));
    assert_eq!(root.paths.open_files(), 0);
}

/// A FIFO stands for the numbers of debugfs, which answer pread with ESPIPE: `nonseekable_open` in the kernel.
#[test]
fn a_file_of_debugfs_that_knows_no_position_is_read_in_order_and_opened_each_time() {
    let dir = tree();
    let path = dir.path().join("sys/migration_cost_ns");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let root = root(dir.path());
    let mut file = root.sys("migration_cost_ns");
    for number in [500_000, 750_000] {
        std::thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&path, format!("{number}\n")).unwrap());
            assert_eq!(root.parse(&mut file, parse::number), Ok(number));
        });
        assert_eq!(root.paths.open_files(), 0);
    }
}
