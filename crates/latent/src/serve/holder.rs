//! Who listens on an address, as the system lists sockets and processes.
//!
//! Invariant: a hint for people. What cannot be read, such as the processes of other users, is told as not known.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// The state of a listening socket in the system's list.
const LISTENING: &str = "0A";

/// The process that listens on the port of `address`, such as `latent, 4711`. `None` where nobody does.
pub fn of(address: SocketAddr) -> Option<String> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|list| fs::read_to_string(list).ok())
        .flat_map(|list| listening(&list, address.port()))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if sockets.is_empty() {
        return None;
    }
    // Besides processes, which are numbers, the list has `self` and other names for one of them.
    let is_process = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit());
    let processes = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    let holder = processes.filter(|path| is_process(path)).find(|process| holds(process, &sockets));
    Some(holder.and_then(|process| named(&process)).unwrap_or_else(|| "of another user".to_owned()))
}

/// The numbers of the sockets that listen on `port`.
fn listening(list: &str, port: u16) -> Vec<String> {
    let port = format!(":{port:04X}");
    let socket = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let is_it = fields.get(1)?.ends_with(&port) && *fields.get(3)? == LISTENING;
        fields.get(9).filter(|_| is_it).map(|inode| (*inode).to_owned())
    };
    list.lines().filter_map(socket).collect()
}

fn holds(process: &Path, sockets: &[String]) -> bool {
    let Ok(open) = fs::read_dir(process.join("fd")) else { return false };
    open.flatten()
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|target| target.to_str().is_some_and(|target| sockets.iter().any(|socket| socket == target)))
}

fn named(process: &Path) -> Option<String> {
    let name = fs::read_to_string(process.join("comm")).ok()?;
    Some(format!("{}, {}", name.trim(), process.file_name()?.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_listens_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let holder = of(listener.local_addr().unwrap()).unwrap();
        assert!(holder.ends_with(&format!(", {}", std::process::id())), "{holder}");
    }

    #[test]
    fn only_sockets_that_listen_on_the_port_count() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                    0: 0100007F:1B9E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 71 1 0 100 0\n\
                    1: 0100007F:1B9E 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000 0 72 1 0 100 0\n\
                    2: 0100007F:1B9F 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 73 1 0 100 0\n\
                    cut";
        assert_eq!(listening(list, 7070), ["71"]);
        assert!(listening(list, 7072).is_empty());
    }
}
