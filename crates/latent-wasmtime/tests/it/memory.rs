//! Linear memory and tables: one grant over everything that an activation instantiates, on every allocator.

use latent_core::{ExecutionOutcome, PlatformErrorCode};
use latent_executor::{ComponentArtifact, ExecutionBackend as _};
use latent_guests::generated;
use latent_wasmtime::EngineSettings;

use crate::support::{Bench, Call, bench, every_allocator, generated_request, limit, on_demand, request, returned};

const MIB: u64 = 1 << 20;
const PAGE: u64 = 64 << 10;

fn grow(function: &str, step_pages: u32, granted: u64) -> Call {
    let mut request = request("containment-capsule", "modes", function, &format!("[{step_pages}]"));
    request.budget.memory_bytes = granted;
    request
}

async fn exhausted_with_peak(bench: &Bench, request: Call, peak: u64) {
    let granted = request.budget.memory_bytes;
    let ran = bench.run(request).await.report;
    assert_eq!(ran.outcome, ExecutionOutcome::MemoryExhausted);
    assert!(ran.consumption.peak_memory_bytes <= granted);
    assert_eq!(ran.consumption.peak_memory_bytes, peak);
    bench.assert_healthy().await;
}

#[tokio::test]
async fn growing_to_the_end_and_trapping_is_memory_exhaustion_whatever_the_step() {
    for (allocator, bench) in every_allocator(&EngineSettings::for_cells(4)) {
        for granted in [MIB, 16 * MIB, 64 * MIB] {
            println!("{allocator}, {granted} bytes");
            // The guest starts with two pages; a step that does not fit leaves it with those.
            exhausted_with_peak(&bench, grow("grow-memory", 1, granted), granted).await;
            for huge in [2048, 65_535, 65_536, u32::MAX] {
                exhausted_with_peak(&bench, grow("grow-memory", huge, granted), 2 * PAGE).await;
            }
        }
    }
}

#[tokio::test]
async fn a_guest_that_takes_the_denial_goes_on_with_what_it_has() {
    for (_, bench) in every_allocator(&EngineSettings::for_cells(4)) {
        let ran = bench.run(grow("grow-memory-politely", 3, 8 * MIB)).await;
        // 2 + 3 × 42 pages of the 128 that are granted.
        assert_eq!(returned(&ran), "128");
        assert_eq!(ran.report.consumption.peak_memory_bytes, 128 * PAGE);
        let ran = bench.run(grow("grow-memory-politely", 60_000, 8 * MIB)).await;
        assert_eq!(returned(&ran), "2");
        assert_eq!(ran.report.consumption.peak_memory_bytes, 2 * PAGE);
        bench.assert_healthy().await;
    }
}

#[tokio::test]
async fn more_than_the_setting_is_never_had_whatever_is_granted() {
    let mut settings = EngineSettings::for_cells(2);
    settings.memory_bytes_max = 4 * MIB;
    for (_, bench) in every_allocator(&settings) {
        exhausted_with_peak(&bench, grow("grow-memory", 1, u64::MAX), 4 * MIB).await;
    }
}

#[tokio::test]
async fn a_declared_minimum_above_the_cap_is_refused_before_anything_runs() {
    for bench in [bench(), on_demand()] {
        for pages in [1025, 65_536] {
            let error = bench.refusal(generated_request(generated::declared_minimum(pages), "nop", "[]")).await;
            assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
            let size = u64::from(pages) * PAGE;
            for part in [&*size.to_string(), "67108864", "memory_bytes_max"] {
                assert!(error.message().contains(part), "{}", error.message());
            }
            assert_eq!(error.details()[0].kind(), "component.limit");
        }
        bench.json(generated_request(generated::declared_minimum(1024), "nop", "[]")).await;
    }
}

#[tokio::test]
async fn a_declared_minimum_above_the_grant_is_memory_exhaustion() {
    for (_, bench) in every_allocator(&EngineSettings::for_cells(4)) {
        let mut request = generated_request(generated::declared_minimum(17), "nop", "[]");
        request.budget.memory_bytes = MIB;
        exhausted_with_peak(&bench, request.clone(), 0).await;
        request.budget.memory_bytes = 17 * PAGE;
        let ran = bench.run(request).await;
        assert_eq!(returned(&ran), "null");
        assert_eq!(ran.report.consumption.peak_memory_bytes, 17 * PAGE);
    }
}

#[tokio::test]
async fn memories_that_each_fit_share_one_grant() {
    for (_, bench) in every_allocator(&EngineSettings::for_cells(4)) {
        for (count, pages) in [(2, 512), (8, 128)] {
            let ran = bench.run(generated_request(generated::memories(count, pages), "nop", "[]")).await;
            assert_eq!(returned(&ran), "null");
            assert_eq!(ran.report.consumption.peak_memory_bytes, 64 * MIB);
            let ran = bench.run(generated_request(generated::composed(count, pages), "nop", "[]")).await;
            assert_eq!(returned(&ran), "null");
            assert_eq!(ran.report.consumption.peak_memory_bytes, 64 * MIB);
        }
        for count in [2, 8] {
            let memories = generated_request(generated::memories(count, 1023), "nop", "[]");
            exhausted_with_peak(&bench, memories, 1023 * PAGE).await;
            let composed = generated_request(generated::composed(count, 1023), "nop", "[]");
            exhausted_with_peak(&bench, composed, 1023 * PAGE).await;
        }
    }
}

#[tokio::test]
async fn memories_that_grow_in_turn_come_to_exactly_the_grant() {
    for (_, bench) in every_allocator(&EngineSettings::for_cells(4)) {
        let mut request = generated_request(generated::memories(8, 1), "grow-all", "[1]");
        request.budget.memory_bytes = 10 * MIB;
        let ran = bench.run(request).await;
        assert_eq!(returned(&ran), "160");
        assert_eq!(ran.report.consumption.peak_memory_bytes, 10 * MIB);
        bench.assert_healthy().await;
    }
}

#[tokio::test]
async fn more_objects_than_the_caps_are_refused_by_name() {
    let cases = [
        (generated::memories(9, 1), "9 memories", "memories_max", "8"),
        (generated::memories(100, 1023), "100 memories", "memories_max", "8"),
        (generated::composed(9, 1), "9 memories", "memories_max", "8"),
        (generated::tables(33, 1), "33 tables", "tables_max", "32"),
        (generated::tables(1, 20_001), "a table of 20001 elements", "table_elements_max", "20000"),
    ];
    for bench in [bench(), on_demand()] {
        for (component, what, setting, cap) in &cases {
            let error = bench.refusal(generated_request(component.clone(), "nop", "[]")).await;
            assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract, "{}", error.message());
            for part in [what, setting, cap] {
                assert!(error.message().contains(part), "{part}: {}", error.message());
            }
            let detail = &error.details()[0];
            assert_eq!(detail.kind(), "component.limit");
            assert_eq!((detail.field("setting"), detail.field("allowed")), (Some(*setting), Some(*cap)));
        }
        assert_eq!(bench.backend.resources().prepared_entries, 1, "only the healthy component was kept");
    }
}

/// A component of `count` core instances with neither memory nor table.
fn core_instances(count: usize) -> Vec<u8> {
    let instances = "(core instance (instantiate $more))".repeat(count - 1);
    let text = format!(
        r#"(component
          (core module $more)
          (core module $guest (func (export "nop")))
          {instances}
          (core instance $guest (instantiate $guest))
          (func $nop (canon lift (core func $guest "nop")))
          (instance $contract (export "nop" (func $nop)))
          (export "{}" (instance $contract)))"#,
        generated::CONTRACT
    );
    wat::parse_str(text).expect("the text is well-formed")
}

#[tokio::test]
async fn more_state_of_the_engine_than_the_setting_is_refused_by_name() {
    let bench = bench();
    let with_globals = |count: usize| {
        let globals = "(global i64 (i64.const 0))".repeat(count);
        let text = format!(
            r#"(component
              (core module $guest {globals} (func (export "nop")))
              (core instance $guest (instantiate $guest))
              (func $nop (canon lift (core func $guest "nop")))
              (instance $contract (export "nop" (func $nop)))
              (export "{}" (instance $contract)))"#,
            generated::CONTRACT
        );
        wat::parse_str(text).expect("the text is well-formed")
    };
    let error = bench.refusal(generated_request(with_globals(300_000), "nop", "[]")).await;
    assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
    for part in ["bytes of instance state", "4194304", "instance_bytes_max"] {
        assert!(error.message().contains(part), "{}", error.message());
    }
    assert_eq!(bench.json(generated_request(with_globals(200_000), "nop", "[]")).await, "null");
}

#[tokio::test]
async fn what_a_component_declares_is_known_once_it_is_prepared() {
    let bench = bench();
    for (component, bytes) in [
        (generated::declared_minimum(0), 0),
        (generated::declared_minimum(17), 17 * PAGE),
        (generated::composed(3, 5), 5 * PAGE),
    ] {
        let prepared = bench.backend.prepare_for_use(ComponentArtifact::new(component)).await.unwrap();
        assert_eq!(prepared.prepared_use().code().declared_memory_bytes(), bytes);
    }
}

#[tokio::test]
async fn more_core_instances_than_the_cap_are_refused_by_name_with_and_without_the_pool() {
    for bench in [bench(), on_demand()] {
        for (component, what) in
            [(core_instances(65), "65 core instances"), (generated::composed(100, 1023), "100 core instances")]
        {
            let error = bench.refusal(generated_request(component, "nop", "[]")).await;
            assert_eq!(error.code(), PlatformErrorCode::IncompatibleContract);
            assert!(error.message().contains(what) && error.message().contains("core_instances_max"), "{error:?}");
        }
        assert_eq!(bench.json(generated_request(core_instances(64), "nop", "[]")).await, "null");
    }
}

#[tokio::test]
async fn tables_share_one_bound_and_a_denial_is_a_limit() {
    for (_, bench) in every_allocator(&EngineSettings::for_cells(4)) {
        let exhausted = limit("activation.table-exhausted", 20_000);
        for declared in [generated::tables(2, 10_001), generated::tables(32, 20_000)] {
            assert_eq!(bench.outcome(generated_request(declared, "nop", "[]")).await, exhausted);
        }
        bench.json(generated_request(generated::tables(32, 625), "nop", "[]")).await;
        let badly = request("table-growth", "tables", "grow-table", "[]");
        assert_eq!(bench.outcome(badly).await, exhausted);
        let politely = request("table-growth", "tables", "grow-table-politely", "[]");
        assert_eq!(bench.json(politely).await, "19001");
    }
}
