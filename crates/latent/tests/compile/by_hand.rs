//! The hidden command as its parent starts it, but with the test holding the other ends.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use latent_wasmtime::{COMPILE_COMMAND, CompileLimits};

use crate::support::{PROGRAM, Rig, Setup, executable, laborious};

/// The exit code of a child that has no image and was not crashed.
const REFUSED: i32 = 3;

/// What a parent writes to its child for a component that keeps it busy for a while: recorded by a program that only reads.
/// The rig comes along to keep the other tests waiting.
fn order() -> (Rig, Vec<u8>) {
    let limits =
        CompileLimits { cpu_base_seconds: 2, cpu_seconds_per_mebibyte: 30, wall_factor: 1, ..CompileLimits::default() };
    let component = laborious(300, 2000);
    let rig = Rig::with(|dir| {
        // All of the component and something of the order before it; what is left of it in the pipe is not lost either.
        let script =
            format!("exec /usr/bin/head -c {} > {}", component.len() + ORDER_BYTES_MIN, dir.join("order").display());
        Setup { program: executable(dir, &script), limits, functions: None }
    });
    rig.compile(&component).unwrap_err();
    let mut order = std::fs::read(rig.dir.path().join("order")).unwrap();
    let json_bytes = u32::from_le_bytes(*order.first_chunk().unwrap()) as usize;
    order.truncate(4 + json_bytes);
    order.extend_from_slice(&component);
    (rig, order)
}

/// Less than the shortest order.
const ORDER_BYTES_MIN: usize = 64;

/// Starts the command from a shell that leaves it a descriptor it does not need.
fn start() -> Child {
    Command::new("/bin/sh")
        .args(["-c", "exec 9</dev/null; exec \"$0\" \"$1\"", PROGRAM, COMPILE_COMMAND])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Checks what a child that reads its component has left, from its directory in `/proc`.
fn assert_jailed(process: &Path) {
    let descriptors = process.join("fd").read_dir().unwrap();
    let mut names: Vec<_> = descriptors.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["0", "1", "2"]);
    let limits = std::fs::read_to_string(process.join("limits")).unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    let defaults = CompileLimits::default();
    assert_eq!(limit("Max address space"), defaults.address_space_bytes);
    assert_eq!(limit("Max file size"), defaults.image_bytes_max);
    assert_eq!((limit("Max core file size"), limit("Max open files")), (0, 8));
    assert_eq!(limit("Max data size"), defaults.address_space_bytes);
    assert_eq!(niceness(process), (niceness(Path::new("/proc/self")) + 10).min(NICENESS_MAX));
    let status = std::fs::read_to_string(process.join("status")).unwrap();
    // A machine whose own filter forbids another shows none, or one all the same.
    let ours = std::fs::read_to_string("/proc/self/status").unwrap();
    if ours.contains("Seccomp:\t0") {
        assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    }
}

/// The last in line for a processor.
const NICENESS_MAX: i32 = 19;

/// How far behind others a process stands, from its directory in `/proc`.
fn niceness(process: &Path) -> i32 {
    let stat = std::fs::read_to_string(process.join("stat")).unwrap();
    // The name, in parentheses, may have any bytes; the state follows it.
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    after_name.split_whitespace().nth(16).unwrap().parse().unwrap()
}

#[test]
fn a_child_gives_up_what_it_does_not_need_and_ends_with_its_parent() {
    let (_rig, order) = order();
    let mut child = start();
    let mut stdin = child.stdin.take().unwrap();
    // The pipe is smaller than the component, so that the child is reading it when this returns.
    stdin.write_all(&order).unwrap();
    assert_jailed(&Path::new("/proc").join(child.id().to_string()));
    drop(stdin);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(REFUSED), "{status}");
    let mut image = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut image).unwrap();
    assert!(image.is_empty());
}

#[test]
fn a_child_without_an_order_says_so() {
    let _rig = Rig::new(Setup::default());
    let mut child = start();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(REFUSED));
    assert!(String::from_utf8(output.stderr).unwrap().contains("it got no order"));
}

#[test]
fn a_child_of_another_version_says_what_to_do() {
    let (_rig, order) = order();
    let json_bytes = u32::from_le_bytes(*order.first_chunk().unwrap()) as usize;
    let mut other: serde_json::Value = serde_json::from_slice(&order[4..4 + json_bytes]).unwrap();
    other["compatibility"] = 1.into();
    let json = serde_json::to_vec(&other).unwrap();
    let mut child = start();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&u32::try_from(json.len()).unwrap().to_le_bytes()).unwrap();
    stdin.write_all(&json).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(REFUSED));
    assert!(String::from_utf8(output.stderr).unwrap().contains("restart the program"));
    assert!(output.stdout.is_empty());
}
