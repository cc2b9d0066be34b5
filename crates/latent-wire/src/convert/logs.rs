//! Log records.

use latent_node::logs::LogEntry;

use super::time;
use crate::proto;

pub(crate) fn record(entry: LogEntry) -> proto::LogRecord {
    let field = |(name, value): (Box<str>, Box<str>)| proto::Field { name: name.into(), value: value.into() };
    proto::LogRecord {
        activation_id: entry.activation_id.to_string(),
        service: entry.service.map(|service| service.to_string()).unwrap_or_default(),
        at: Some(time::timestamp(entry.at)),
        level: entry.level.to_owned(),
        message: entry.message.into(),
        fields: entry.fields.into_iter().map(field).collect(),
        missed: entry.missed,
    }
}
