//! Messages of the API: what was read from one form goes through the other and comes back.

use std::fmt::Debug;

use latent_wire::proto;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Takes the first byte of `data` as a choice of message and form, and the rest as that message.
///
/// # Panics
/// When a message changes on its way through either form.
pub fn check(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let at = usize::from(choice / 2) % MESSAGES.len();
    if choice % 2 == 0 { (MESSAGES[at].0)(data) } else { (MESSAGES[at].1)(data) }
}

type Read = fn(&[u8]);

macro_rules! messages {
    ($($name:ident)*) => {
        [$((of_bytes::<proto::$name> as Read, of_json::<proto::$name> as Read),)*]
    };
}

/// Those that clients send, and those of answers that the client commands read.
const MESSAGES: [(Read, Read); 46] = messages! {
    InvokeRequest InvokeResponse Error CancelRequest CancelResponse GetActivationRequest Activation
    WatchActivationRequest ActivationEvent ListActivationsRequest ListActivationsResponse PublishRequest PublishResponse
    Release GetReleaseRequest ListReleasesRequest ListReleasesResponse DeleteReleaseRequest ApplyRequest ApplyResponse
    Deployment GetDeploymentRequest ListDeploymentsRequest ListDeploymentsResponse DeleteDeploymentRequest
    GetRouteRequest Route ResolveRequest ResolveResponse GetLogsRequest GetLogsResponse FollowLogsRequest LogRecord
    Tenant ApplyTenantRequest ListTenantsRequest CreateCredentialRequest CreateCredentialResponse
    ListCredentialsRequest RevokeCredentialRequest Inventory DrainRequest BackupRequest BackupResponse GetUsageRequest
    GetUsageResponse
};

fn of_bytes<M: Message + Default + PartialEq + Debug + Serialize + DeserializeOwned>(data: &[u8]) {
    let Ok(message) = M::decode(data) else { return };
    same_bytes(&message);
    // Numbers of enumerations and times that JSON has no form for are the only ones that cannot be written.
    let Ok(json) = serde_json::to_string(&message) else { return };
    match serde_json::from_str::<M>(&json) {
        Ok(again) => assert_eq!(again, message, "{json}"),
        // Nanoseconds beyond a second are written as more than nine places, and years of more than four digits with a sign. Neither is
        // a time by the rules of protobuf, and no reader takes it.
        Err(error) => {
            let (error, has_sign) = (error.to_string(), json.contains("\":\"+") || json.contains("\":\"-"));
            let is_no_time = error.starts_with("too many decimal places") || has_sign && error.contains("input");
            assert!(is_no_time, "{json}: {error}");
        }
    }
}

fn of_json<M: Message + Default + PartialEq + Debug + Serialize + DeserializeOwned>(data: &[u8]) {
    let Ok(message) = serde_json::from_slice::<M>(data) else { return };
    same_bytes(&message);
    let json = serde_json::to_string(&message).expect("what was read can be written");
    let again: M = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{json}: {error}"));
    assert_eq!(again, message, "{json}");
}

fn same_bytes<M: Message + Default + PartialEq + Debug>(message: &M) {
    let bytes = message.encode_to_vec();
    assert_eq!(bytes.len(), message.encoded_len());
    assert_eq!(M::decode(&*bytes).as_ref(), Ok(message));
}
