//! The compiler in a child process: the program itself under its hidden command, and programs that misbehave in its place.

mod by_hand;
mod ends;
mod functions;
mod images;
mod limits;
mod support;
