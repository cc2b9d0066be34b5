//! Questions for addresses: unanswered, too many, and of the system.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use latent_executor::{OutgoingError, OutgoingHttp as _};
use latent_http::egress::{Client, EgressConfig, EgressSnapshot, LookupHold, Resolver};

use super::servers::saying;
use super::support::{asked, get, loopback, send, soon, until_closed};

/// Never answers, and works on everything it was asked until it is told to stop.
#[derive(Default)]
struct Silent(Mutex<Vec<LookupHold>>);

impl Resolver for Silent {
    fn resolve(&self, _host: &str, hold: LookupHold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.0.lock().expect("sound").push(hold);
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_question_counts_until_nobody_works_on_it() {
    let silent = Arc::new(Silent::default());
    let config = EgressConfig {
        connect_timeout: Duration::from_millis(20),
        lookups_per_node: 3,
        lookups_per_tenant: 2,
        ..EgressConfig::default()
    };
    let client = Client::with_resolver(config, Arc::<Silent>::clone(&silent)).expect("a client");
    let send = |tenant| soon(client.send(asked(get("http://a.example:80/"), tenant, loopback(80))));
    assert_eq!(send("a").await.err(), Some(OutgoingError::NameTimeout));
    assert_eq!(send("a").await.err(), Some(OutgoingError::NameTimeout));
    assert_eq!(client.snapshot(), EgressSnapshot { connections: 0, lookups: 2, tenants: 0 });
    assert_eq!(send("a").await.err(), Some(OutgoingError::ConnectionLimit));
    assert_eq!(send("b").await.err(), Some(OutgoingError::NameTimeout));
    assert_eq!(send("c").await.err(), Some(OutgoingError::ConnectionLimit));
    silent.0.lock().expect("sound").clear();
    until_closed(&client).await;
    assert_eq!(send("a").await.err(), Some(OutgoingError::NameTimeout));
}

#[tokio::test]
async fn a_question_that_the_server_gave_up_is_told_apart() {
    struct GaveUp;
    impl Resolver for GaveUp {
        fn resolve(&self, _host: &str, _hold: LookupHold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            Box::pin(std::future::ready(Err(io::ErrorKind::TimedOut.into())))
        }
    }
    let client = Client::with_resolver(EgressConfig::default(), Arc::new(GaveUp)).expect("a client");
    let answer = send(&client, get("http://a.example:80/"), loopback(80)).await;
    assert_eq!(answer.err(), Some(OutgoingError::NameTimeout));
}

#[tokio::test]
async fn the_system_knows_localhost_and_not_what_is_reserved_for_nobody() {
    let port = saying("HTTP/1.1 204 No Content\r\n\r\n").await.port();
    let client = Client::new(EgressConfig::default()).expect("a client");
    let answer = send(&client, get(&format!("http://localhost:{port}/")), loopback(port)).await;
    assert_eq!(answer.expect("an answer").status(), 204);
    until_closed(&client).await;
    assert_eq!(
        send(
            &client,
            get("http://localhost/"),
            vec![super::support::grant(latent_core::http::OutgoingScheme::Http, "localhost", None, &[])]
        )
        .await
        .err(),
        Some(OutgoingError::AddressProhibited)
    );
}
