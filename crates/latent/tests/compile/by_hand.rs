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

#[test]
fn a_child_ends_with_its_parent_and_keeps_only_the_standard_descriptors() {
    let (_rig, order) = order();
    let mut child = start();
    let mut stdin = child.stdin.take().unwrap();
    // The pipe is smaller than the component, so that the child is reading it when this returns.
    stdin.write_all(&order).unwrap();
    let descriptors = Path::new("/proc").join(child.id().to_string()).join("fd").read_dir().unwrap();
    let mut names: Vec<_> = descriptors.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["0", "1", "2"]);
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
