//! Writes one fixture's component to a file, so that a test by hand can run it: `componentize NAME OUT.wasm`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, path] = arguments.as_slice() else {
        return usage("expected a fixture's name and the file to write");
    };
    if !latent_guests::names().any(|known| known == name) {
        return usage(&format!("no fixture is named `{name}`"));
    }
    match std::fs::write(path, latent_guests::component(name)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write `{path}`: {error}");
            ExitCode::from(1)
        }
    }
}

fn usage(problem: &str) -> ExitCode {
    let known = latent_guests::names().collect::<Vec<_>>().join("\n  ");
    eprintln!("{problem}\nusage: componentize NAME OUT.wasm\nfixtures:\n  {known}");
    ExitCode::from(2)
}
