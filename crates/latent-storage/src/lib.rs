//! Releases and deployments on disk: content-addressed files, one database, one owner of the directory.
