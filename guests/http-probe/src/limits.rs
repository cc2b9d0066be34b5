//! What uses a limit up.

use wasip2::http::types::{Fields, ResponseOutparam};

use crate::answers::text;
use crate::streams::{begin, response, write_and_flush};

/// Never ends.
pub fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = std::hint::black_box(turns.wrapping_add(1));
    }
}

/// Answers, then never ends, with the body open.
pub fn spin_after(out: ResponseOutparam) {
    let body = begin(out, 200, &[]);
    let _written = write_and_flush(&body.write().expect("a body has one stream"), b"some of it");
    spin();
}

/// Asks for memory until there is none.
pub fn memory() {
    let mut held: Vec<Vec<u8>> = Vec::new();
    loop {
        held.push(std::hint::black_box(vec![1; 1 << 20]));
    }
}

/// Adds so many headers of a kilobyte to one set.
pub fn fields(count: u64) {
    let fields = Fields::new();
    let value = [b'v'; 1000];
    for n in 0..count {
        fields.append(&format!("name-{n}"), &value).expect("a full set ends the run");
    }
}

/// Makes sets of headers without end.
pub fn many_fields() {
    loop {
        std::mem::forget(Fields::new());
    }
}

/// Makes so many bodies that nobody reads, fills each, and says how many bytes they took in all.
pub fn bodies(out: ResponseOutparam, count: u64) {
    let (mut kept, mut taken) = (Vec::new(), 0_u64);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..count {
        let response = response(200, &[]);
        let body = response.body().expect("a response has one body");
        let stream = body.write().expect("a body has one stream");
        loop {
            let room = stream.check_write().expect("the response is kept");
            if room == 0 {
                break;
            }
            let now = &piece[..piece.len().min(room as usize)];
            stream.write(now).expect("there is room");
            taken += now.len() as u64;
        }
        kept.push((response, stream, body));
    }
    // A stream goes before its body, and it is no matter how these bodies end.
    std::mem::forget(kept);
    text(out, 200, taken.to_string().as_bytes());
}
