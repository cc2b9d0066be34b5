//! Which HTTP requests a component answers under `latent up`. Pure.
//!
//! Invariant: routes that somebody chose for a deployment stay; only those that were made here are made anew.

use latent_core::ServiceName;
use latent_core::http::{HttpAuthentication, HttpIngress, HttpRoute};

/// What a service with an HTTP handler may answer, in order of preference: everything, if it is the only component, else its
/// name below `localhost`, which is this machine. A name that no host can have is left out.
pub fn choices(service: &ServiceName, is_only: bool) -> Vec<HttpIngress> {
    let everything = is_only.then(|| "*/".to_owned());
    let named = format!("{}.localhost/", service.as_str());
    let route = |text: String| HttpRoute::parse(&text).map(open);
    everything.into_iter().chain([named]).filter_map(route).collect()
}

/// Whether `ingress` is one that was chosen here, or none.
pub fn is_made_here(ingress: &HttpIngress, service: &ServiceName) -> bool {
    ingress.routes.is_empty() || choices(service, true).contains(ingress)
}

fn open(route: HttpRoute) -> HttpIngress {
    HttpIngress { routes: [route].into(), authentication: HttpAuthentication::Open }
}

/// The URL of the first route of `ingress`, below that of the listener; `None` without one.
pub fn url(ingress: &HttpIngress, listener: &str) -> Option<String> {
    use latent_core::http::HostPattern;
    let HttpRoute { host, path } = ingress.routes.first()?;
    let (scheme, address) = listener.split_once("://")?;
    let port = address.rsplit_once(':').map_or("", |(_, port)| port);
    Some(match host {
        HostPattern::Exact(host) => format!("{scheme}://{host}:{port}{path}"),
        HostPattern::Under(domain) => format!("{scheme}://any.{domain}:{port}{path}"),
        HostPattern::Any => format!("{listener}{path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str) -> ServiceName {
        ServiceName::new(name).unwrap()
    }

    fn texts(name: &str, is_only: bool) -> Vec<String> {
        choices(&service(name), is_only).iter().map(|ingress| ingress.routes[0].to_string()).collect()
    }

    #[test]
    fn the_only_component_answers_everything_and_one_of_several_its_name() {
        assert_eq!(texts("Hello", true), ["*/", "hello.localhost/"]);
        assert_eq!(texts("hello", false), ["hello.localhost/"]);
        assert_eq!(texts("no:host", false), [""; 0]);
    }

    #[test]
    fn what_somebody_chose_is_told_from_what_was_made_here() {
        let made = choices(&service("hello"), false).remove(0);
        assert!(is_made_here(&made, &service("hello")) && is_made_here(&HttpIngress::default(), &service("hello")));
        assert!(!is_made_here(&made, &service("other")));
        let closed = HttpIngress { authentication: HttpAuthentication::Bearer, ..made };
        assert!(!is_made_here(&closed, &service("hello")));
    }

    #[test]
    fn urls_lead_to_the_listener() {
        let of = |text: &str| url(&open(HttpRoute::parse(text).unwrap()), "http://127.0.0.1:8080");
        assert_eq!(of("*/").as_deref(), Some("http://127.0.0.1:8080/"));
        assert_eq!(of("a.localhost/b").as_deref(), Some("http://a.localhost:8080/b"));
        assert_eq!(url(&HttpIngress::default(), "http://127.0.0.1:8080"), None);
    }
}
