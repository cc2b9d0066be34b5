//! `latent completions`: what lets a shell complete the commands.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::ending::Exit;
use crate::terminal::{lost_output, to_stdout};

pub const EXAMPLES: &str = "\
Examples:
  latent completions bash > ~/.local/share/bash-completion/completions/latent
  latent completions zsh > ~/.zfunc/_latent
  latent completions fish > ~/.config/fish/completions/latent.fish";

/// What `latent completions` takes.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints them. All failures have been printed.
pub fn print(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "latent", &mut script);
    to_stdout(&script).map_or_else(|lost| lost_output(&lost, Exit::Success), |()| Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_gets_a_script_that_knows_the_verbs() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "latent", &mut script);
            let script = String::from_utf8(script).expect("a script is text");
            assert!(["publish", "invoke", "completions"].iter().all(|verb| script.contains(verb)), "{shell}");
        }
    }
}
