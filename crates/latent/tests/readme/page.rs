//! What a page in Markdown shows of a terminal.

/// A command and what is shown of its output.
pub struct Step {
    pub command: String,
    pub shown: String,
    /// Where the command stands, from 1.
    pub line: usize,
}

/// The commands of the console blocks between `heading` and the next heading of its level.
pub fn steps(page: &str, heading: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut inside, mut console) = (false, false);
    for (at, text) in page.lines().enumerate() {
        match text {
            "```console" => console = true,
            "```" => console = false,
            _ if console && inside => take(&mut steps, text, at + 1),
            _ if !console && text.starts_with("## ") => inside = text == heading,
            _ => {}
        }
    }
    steps
}

fn take(steps: &mut Vec<Step>, text: &str, line: usize) {
    match (text.strip_prefix("$ "), steps.last_mut()) {
        (Some(command), _) => steps.push(Step { command: command.to_owned(), shown: String::new(), line }),
        (None, Some(step)) => step.shown.extend([text, "\n"]),
        (None, None) => panic!("line {line}: output before any command: {text}"),
    }
}

/// The arguments of the page's first `cargo run … latent`.
pub fn first_command(page: &str) -> String {
    let found = page.lines().find_map(|line| line.strip_prefix("cargo run --release --bin latent -- "));
    found.expect("the page has a first command").to_owned()
}

#[test]
fn commands_have_what_is_shown_below_them_and_other_sections_are_left_out() {
    let page =
        "## A\n```console\n$ no\n```\n## B\ntext\n```console\n$ one\nsaid\nmore\n$ two\n```\n```sh\nsh\n```\n## C\n";
    let steps = steps(page, "## B");
    let found: Vec<_> = steps.iter().map(|step| (&*step.command, &*step.shown, step.line)).collect();
    assert_eq!(found, [("one", "said\nmore\n", 8), ("two", "", 11)]);
}
