//! An ordinary Rust guest: gives back what it got, with the bindings and the allocator that every Rust service has.
//! Unlike `echo` it grows its memory to take its input, because that is what the standard allocator does.

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "fixture" });
}

use bindings::exports::fixture::echo_rust::echo::Guest;

struct Echo;

impl Guest for Echo {
    fn echo_string(text: String) -> String {
        text
    }

    fn echo_bytes(data: Vec<u8>) -> Vec<u8> {
        data
    }
}

bindings::export!(Echo with_types_in bindings);
