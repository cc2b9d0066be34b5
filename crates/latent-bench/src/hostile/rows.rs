//! The rows, in the order of their numbers, and what each is checked by.

mod bytes;
mod fair;
mod floods;
mod heads;
mod hosting;
mod leases;
mod memory;
mod metadata;
mod names;
mod results;
mod stops;
mod streams;
mod waits;

use super::case::{Case, Check, apart, on};
use super::covered::covered;

/// Every row.
pub fn all() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    cases.extend(components());
    cases.extend(time());
    cases.extend(memory_and_results());
    cases.extend(leases_and_quota());
    cases.extend(transport());
    cases.extend(process());
    cases
}

fn components() -> impl Iterator<Item = Case> {
    let first = on! {Tight:
        "1" "types nested 560 deep: refused" => bytes::nested_types;
        "2" "instances of instances, 7 and 8 levels of 10: refused within 100 ms" => bytes::nested_instances;
        "3" "a component cut at every 1/64, every byte of its first 256 flipped: refused or runs" => bytes::changed;
        "4" "what is no component: refused by what it is" => bytes::no_components;
        "5" "imports that are not offered: refused by name; a newer patch links" => bytes::imports;
    };
    let hurried = on! {Hurried:
        "6" "more to compile than there is time: the compiler ends, the node goes on" => bytes::laborious;
    };
    let last = on! {Tight:
        "7" "64 publish and call one component: one compilation; 64 take one name: one has it" => bytes::at_once;
        "8" "manifests of 140,000 brackets, keys twice or unknown, texts of 1 MiB: refused" => names::manifests;
        "9" "ids up to 1 MB, paths, controls, look-alikes: refused or kept apart" => names::ids;
    };
    first.into_iter().chain(hurried).chain(last)
}

fn time() -> impl Iterator<Item = Case> {
    let seen = on! {Tight:
        "20" "start, realloc and post-return that spin, an endless list: stopped" => stops::endless;
        "21" "twice as many spinning guests as processors: a healthy call and status at once" => stops::spinners;
        "22" "parked for an hour: deadline, and cancelled at once" => stops::parked;
        "23" "bulk fills without end, 50 ms: deadline" => stops::bulk;
        "24" "deadlines past, of 1 ms, none, without end: neither early nor late" => stops::deadlines;
        "25" "recursion to the end of the stack, into a host call too: trap" => stops::recursion;
        "26" "trap in post-return, then another call: trap, and fine" => stops::post_return;
        "27" "a million host calls: fine, and charged" => stops::host_calls;
        "28" "call, cancel, call again, cancel again: both cancelled" => stops::again;
        "29" "cancelled and dropped at 400 moments of a run: each ends once" => stops::moments;
    };
    let polls = Case {
        row: "29",
        name: "cancelled and dropped at the n-th poll, for every n",
        check: Check::InProcess(covered! {
            "latent::containment::polls::a_cancel_at_any_poll_ends_the_activation_and_its_lease_once"
                in "../../../latent/tests/containment/polls.rs",
            "latent::containment::polls::a_drop_at_any_poll_costs_the_cell_once_and_leaves_nothing"
                in "../../../latent/tests/containment/polls.rs",
            "latent-node::activation_lifecycle::points::a_run_can_be_dropped_or_cancelled_after_any_number_of_polls"
                in "../../../latent-node/tests/activation_lifecycle/points.rs",
        }),
    };
    seen.into_iter().chain([polls])
}

fn memory_and_results() -> impl Iterator<Item = Case> {
    let seen = on! {Tight:
        "40" "memory grown to its end in small and huge steps: limit, or fine for who goes on" => memory::growth;
        "40b" "a declared minimum above the cap: refused with size, cap and setting" => memory::declared;
        "41" "2, 8 and 100 memories, composed components, tables: limit on all, or refused" => memory::together;
        "42" "handles, pollables and HTTP fields that nobody drops: limit" => memory::handles;
        "43" "4 GiB of random bytes, results that alias or claim 2 GiB: limit or trap" => memory::claims;
        "44" "floods of output, a line of 1 GiB, bytes that are no text: bounded logs that say so" => memory::output;
        "45" "instantiation that fails at each stage, 6,000 times: nothing left" => memory::instantiation;
        "46" "memory that a tenant left: zeros for the next, 1,000 times 1 MiB, 10 times 64 MiB" => memory::left_behind;
        "60" "exit with 0, 1 and 255: distinct outcomes" => results::exits;
        "61" "a handler that sets no response, or sets it twice: failure with its reason" => results::no_response;
        "62" "a failure after the head: the response is cut, the record says why" => results::after_the_head;
    };
    let traps = Case {
        row: "62",
        name: "a trap after the head, over HTTP/1 and HTTP/2",
        check: Check::InProcess(covered! {
            "latent-http::it::failures::a_trap_after_the_head_cuts_the_connection_and_the_record_says_why"
                in "../../../latent-http/tests/it/failures.rs",
            "latent-http::it::failures::over_http_2_a_trap_after_the_head_resets_its_stream_and_no_other"
                in "../../../latent-http/tests/it/failures.rs",
        }),
    };
    let panics = Case {
        row: "63",
        name: "a host import panics",
        check: Check::InProcess(covered! {
            "latent::containment::panics::a_panic_in_a_host_call_costs_one_cell_and_fails_as_the_platforms"
                in "../../../latent/tests/containment/panics.rs",
        }),
    };
    seen.into_iter().chain([traps, panics])
}

fn leases_and_quota() -> impl Iterator<Item = Case> {
    let seen = on! {Tight:
        "80" "cancel twice, finished, queued, unknown, foreign, 10,000 at once: as specified" => leases::cancels;
        "81" "64 racing calls at the quota less one: exactly one is admitted" => leases::racing;
    };
    let dependencies = Case {
        row: "82",
        name: "a dependency panics between acquire and release",
        check: Check::InProcess(covered! {
            "latent-node::activation_lifecycle::disposal::a_release_that_fails_or_panics_fails_the_activation_and_costs_the_cell"
                in "../../../latent-node/tests/activation_lifecycle/disposal.rs",
            "latent-node::activation_lifecycle::disposal::a_pool_that_panics_when_it_is_asked_fails_the_activation_and_keeps_its_cells"
                in "../../../latent-node/tests/activation_lifecycle/disposal.rs",
        }),
    };
    let counters = Case {
        row: "83",
        name: "counters near their maximum",
        check: Check::InProcess(covered! {
            "latent-node::activation_lifecycle::ownership::numbers_at_their_maximum_neither_wrap_nor_panic"
                in "../../../latent-node/tests/activation_lifecycle/ownership.rs",
            "latent-activation::journal::tests::bounds::a_tenants_numbers_near_their_end_refuse_it_alone_and_never_wrap"
                in "../../../latent-activation/src/journal/tests/bounds.rs",
        }),
    };
    let crowd = on! {Crowd:
        "84" "1,000 queued calls of 1 s, another tenant's of 5 ms: waits no longer than the bound" => fair::crowd;
    };
    seen.into_iter().chain([dependencies, counters]).chain(crowd)
}

fn transport() -> impl Iterator<Item = Case> {
    on! {Tight:
        "100" "clients leave before the body, in the call, in the response: interrupted within 100 ms" => waits::leave;
        "101" "1,000 peers say nothing, one byte, nothing more: closed within 10 s, others served" => waits::silent;
        "102" "floods of resets, continuations and empty frames on each listener: closed, memory flat" => floods::all;
        "103" "grpc-timeout of 99999999H, 0n, nine digits, garbage; gzip: clamped or refused" => metadata::timeouts;
        "104" "tokens nearly right, twice, 1 MB, no text; foreign names: refused, in no log" => metadata::tokens;
        "106" "hosts twice, none, odd, absolute forms, CONNECT: 4xx or the right route" => heads::hosts;
        "107" "lengths twice, negative, huge, with an encoding; chunk sizes that are none: closed" => heads::lengths;
        "108" "1,000 headers, one of 64 KiB, bytes that are no text: served or 4xx" => heads::sizes;
        "109" "bodies both ways that never end, stall, are cut: bounded" => streams::bodies;
        "110" "headers, statuses and lengths of a guest that are none: typed failure" => streams::misdeeds;
        "111" "a reader of one byte a second of 10 MiB: holds no cell" => streams::slow_reader;
    }
    .into_iter()
}

fn process() -> impl Iterator<Item = Case> {
    let first = apart! {
        "105" "descriptors gone, then freed: backs off, recovers within 2 s" => hosting::descriptors;
        "120" "kill -9 under load, 8 times: all that was acknowledged is there" => hosting::kills;
        "121" "disk full: typed failures, recovers" => hosting::disk_full;
        "121" "every write fails: typed failures, recovers" => hosting::unwritable;
        "121" "a directory that is read-only: refused by name" => hosting::read_only;
        "122" "two nodes on one directory, through links too: the second refuses within 1 s" => hosting::shared;
        "123" "single bits of the catalog and of compiled images flipped: never served wrong" => hosting::flipped;
        "124" "SIGTERM under load, twice, at the start: ends clean in time" => hosting::told_to_end;
    };
    let clock = Case {
        row: "125",
        name: "the wall clock set back an hour and ahead a year",
        check: Check::InProcess(covered! {
            "latent-activation::request::tests::a_wall_clock_set_back_an_hour_or_ahead_a_year_leaves_deadlines_as_they_were_given"
                in "../../../latent-activation/src/request/tests.rs",
            "latent-node::activation_lifecycle::clocks::while_it_runs"
                in "../../../latent-node/tests/activation_lifecycle/clocks.rs",
        }),
    };
    let last = apart! {
        "126" "little address space: serves, or names the setting" => hosting::address_space;
        "126" "1 GiB of memory: serves, or names the setting" => hosting::container;
        "126" "whether the machine tells its pressure or not: serves, or names the setting" => hosting::pressure;
    };
    first.into_iter().chain([clock]).chain(last)
}
