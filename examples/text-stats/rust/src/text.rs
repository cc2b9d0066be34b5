//! What is counted in a text, on plain types. A word is ASCII, so its length in bytes is its length in characters.

use std::collections::BTreeMap;

/// A text with more characters than this is refused.
pub const CHARACTERS_MAX: u32 = 100_000;

/// The words of the text in the order in which they stand, in lower case.
pub fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|run| !run.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

/// Line feeds, and one more unless the text ends with one.
pub fn lines(text: &str) -> u32 {
    let feeds = text.matches('\n').count();
    count_of(feeds + usize::from(!text.ends_with('\n')))
}

/// The longest word; `None` when two different words share that length, or there is no word.
pub fn sole_longest(words: &[String]) -> Option<&str> {
    let longest = words.iter().max_by_key(|word| word.len())?;
    let shared = words.iter().any(|word| word.len() == longest.len() && word != longest);
    (!shared).then_some(longest)
}

/// Each different word with the number of times that it occurs, alphabetical.
pub fn occurrences(words: Vec<String>) -> Vec<(String, u32)> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_insert(0_u32) += 1;
    }
    counts.into_iter().collect()
}

/// A count within one text as the contract's u32, which a 32-bit memory cannot exceed.
pub fn count_of(count: usize) -> u32 {
    u32::try_from(count).expect("a text in a 32-bit memory has fewer than 2^32 characters")
}
