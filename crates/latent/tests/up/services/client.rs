//! The client of a service, and the server that a service is a client of: few lines of HTTP/1.0, whose bodies end with the
//! connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;

use crate::support::{Answer, Up, WATCHDOG};

impl Up {
    /// Makes a request of the service, which is the only one.
    #[track_caller]
    pub fn request(&self, head: &str, body: &str) -> Answer {
        let mut stream = begin(&self.http, head, body.len());
        stream.write_all(body.as_bytes()).expect("the node reads");
        Answer::of(stream)
    }
}

fn begin(to: &str, head: &str, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(to).expect("the node listens");
    stream.set_read_timeout(Some(WATCHDOG)).expect("a socket has timeouts");
    stream.set_write_timeout(Some(WATCHDOG)).expect("a socket has timeouts");
    let request = format!("{head} HTTP/1.0\r\nhost: any.test\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the node reads");
    stream
}

/// Sends `body` in two halves, the second once some of the first has come back, and answers what came.
#[track_caller]
pub fn stream_both_ways(to: &str, head: &str, body: &[u8]) -> Vec<u8> {
    let mut sink = begin(to, head, body.len());
    let mut source = BufReader::new(sink.try_clone().expect("a socket can be cloned"));
    let (begun, begins) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (first, second) = body.split_at(body.len() / 2);
            sink.write_all(first).expect("the node reads");
            begins.recv_timeout(WATCHDOG).expect("something comes back before the end is sent");
            sink.write_all(second).expect("the node reads on");
        });
        let status = source.by_ref().lines().next().expect("a line").expect("text");
        assert!(status.ends_with("200 OK"), "{status}");
        let rest_of_head = source.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
        assert!(rest_of_head.count() > 0, "a head has fields");
        assert!(!source.fill_buf().expect("a body").is_empty(), "it ended before it began");
        begun.send(()).expect("the other half waits");
        let mut came = Vec::new();
        source.read_to_end(&mut came).expect("a body");
        came
    })
}

/// Answers the first request with `text`, and says how it began.
pub fn answer_once(server: &TcpListener, text: &str) -> String {
    let (mut stream, _) = server.accept().expect("somebody comes");
    stream.set_read_timeout(Some(WATCHDOG)).expect("a socket has timeouts");
    let mut lines = BufReader::new(stream.try_clone().expect("a socket can be cloned")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(lines.map_while(Result::ok).any(|line| line.is_empty()), "the head ends");
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}", text.len());
    stream.write_all(answer.as_bytes()).expect("the node reads");
    first
}
