//! An HTTP handler whose path says how it behaves: well, badly, or to the end of some limit. Arguments are in the query.

mod answers;
mod limits;
mod misdeeds;
mod outgoing;
mod streams;

use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{IncomingRequest, ResponseOutparam};

struct Probe;

impl Guest for Probe {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let path = request.path_with_query().unwrap_or_default();
        let (name, query) = path.split_once('?').unwrap_or((&path, ""));
        let query = Query(query);
        match name {
            "/hello" => answers::hello(out),
            "/echo" => answers::echo(request, out),
            "/count" => answers::count(request, out),
            "/headers" => answers::headers(&request, out),
            "/drip" => answers::drip(out, query.number("n"), query.number("ms")),
            "/large" => answers::large(out, query.number("n")),
            "/trailers" => answers::trailers(request, out),
            "/sleep" => answers::sleep(out, query.number("ms")),
            "/trap-before" => panic!("asked to trap before it answers"),
            "/trap-after" => misdeeds::trap_after(out),
            "/no-response" => drop((request, out)),
            "/error-code" => misdeeds::error_code(out),
            "/bad-status" => misdeeds::status(out, query.number("n")),
            "/bad-header" => misdeeds::bad_header(out),
            "/bad-length" => misdeeds::length(out, query.text("v")),
            "/long-body" => misdeeds::long_body(out),
            "/short-body" => misdeeds::short_body(out),
            "/forget" => misdeeds::forget(out),
            "/drop-body" => misdeeds::drop_body(out),
            "/exit" => misdeeds::exit(out),
            "/spin" => limits::spin(),
            "/spin-after" => limits::spin_after(out),
            "/memory" => limits::memory(),
            "/fields" => limits::fields(query.number("n")),
            "/many-fields" => limits::many_fields(),
            "/bodies" => limits::bodies(out, query.number("n")),
            "/fetch" => outgoing::fetch(out, query.text("url")),
            "/fetch-many" => outgoing::fetch_many(out, query.number("n"), query.text("url")),
            "/fetch-forget" => outgoing::fetch_forget(out, query.text("url")),
            "/post" => outgoing::post(request, out, query.text("url")),
            _ => answers::text(out, 404, b"no such behaviour\n"),
        }
    }
}

/// The arguments of a request, not decoded.
#[derive(Clone, Copy)]
struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    fn text(self, name: &str) -> &'a str {
        let named = |pair: &'a str| pair.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
        self.0.split('&').find_map(named).unwrap_or_default()
    }

    fn number(self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or_default()
    }
}

wasip2::http::proxy::export!(Probe);
