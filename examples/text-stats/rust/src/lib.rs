//! The text service as a component: the generated bindings, and the exports that map them to `text`.
//! Everything that is computed is in `text`; here types are converted and failures chosen.

mod text;

mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "text-stats", additional_derives: [PartialEq] });
}

use bindings::exports::example::text_stats::analyze::{Entry, Failure, Guest, Order, Stats};

struct TextStats;

impl Guest for TextStats {
    fn analyze(text: String) -> Result<Stats, Failure> {
        let (characters, words) = accept(&text)?;
        let word_characters: usize = words.iter().map(String::len).sum();
        Ok(Stats {
            characters,
            words: text::count_of(words.len()),
            lines: text::lines(&text),
            longest: text::sole_longest(&words).map(str::to_owned),
            average_word_length: word_characters as f64 / words.len() as f64,
        })
    }

    fn top_words(text: String, order: Order, limit: u32) -> Result<Vec<Entry>, Failure> {
        let (_, words) = accept(&text)?;
        // Alphabetical from here; the sorts below are stable, so that equals stay so.
        let mut entries = text::occurrences(words);
        match order {
            Order::Alphabetical => {}
            Order::ByCount => entries.sort_by(|(_, a), (_, b)| b.cmp(a)),
            Order::ByLength(at_least) => {
                entries.retain(|(word, _)| text::count_of(word.len()) >= at_least);
                entries.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
            }
        }
        entries.truncate(limit as usize);
        Ok(entries.into_iter().map(|(word, count)| Entry { word, count }).collect())
    }

    fn reverse(text: String) -> String {
        text.chars().rev().collect()
    }
}

/// The number of characters and the words of a text that is neither too long nor without a word.
fn accept(text: &str) -> Result<(u32, Vec<String>), Failure> {
    let characters = text::count_of(text.chars().count());
    if characters > text::CHARACTERS_MAX {
        return Err(Failure::TooLong(characters));
    }
    let words = text::words(text);
    if words.is_empty() { Err(Failure::Empty) } else { Ok((characters, words)) }
}

bindings::export!(TextStats with_types_in bindings);

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str, order: Order, limit: u32) -> Vec<String> {
        let entries = TextStats::top_words(text.to_owned(), order, limit).expect("the text has words");
        entries.into_iter().map(|entry| format!("{} {}", entry.word, entry.count)).collect()
    }

    #[test]
    fn counts_characters_not_bytes_and_words_in_lower_case() {
        let stats = TextStats::analyze("Ünder THE\nthe 🦀\n".to_owned());
        let expected = Stats {
            characters: 16,
            words: 3,
            lines: 2,
            longest: Some("nder".to_owned()),
            average_word_length: 10.0 / 3.0,
        };
        assert_eq!(stats, Ok(expected));
    }

    #[test]
    fn has_no_longest_word_when_two_share_the_length() {
        let longest = |text: &str| TextStats::analyze(text.to_owned()).expect("the text has words").longest;
        assert_eq!(longest("one two"), None);
        assert_eq!(longest("one ONE a"), Some("one".to_owned()));
    }

    #[test]
    fn lists_words_in_each_order_alphabetical_among_equals() {
        let text = "bb a ccc a bb zz 10";
        assert_eq!(listed(text, Order::ByCount, 3), ["a 2", "bb 2", "10 1"]);
        assert_eq!(listed(text, Order::Alphabetical, 9), ["10 1", "a 2", "bb 2", "ccc 1", "zz 1"]);
        assert_eq!(listed(text, Order::ByLength(2), 9), ["ccc 1", "10 1", "bb 2", "zz 1"]);
        assert!(listed(text, Order::ByLength(4), 9).is_empty());
        assert!(listed(text, Order::ByCount, 0).is_empty());
    }

    #[test]
    fn refuses_a_text_without_a_word_and_one_above_the_limit_in_characters() {
        assert_eq!(TextStats::analyze("é – ß".to_owned()), Err(Failure::Empty));
        assert!(TextStats::analyze("é".repeat(99_999) + "a").is_ok());
        let long = "é".repeat(100_001);
        assert_eq!(TextStats::analyze(long.clone()), Err(Failure::TooLong(100_001)));
        assert_eq!(TextStats::top_words(long, Order::ByCount, 1), Err(Failure::TooLong(100_001)));
    }

    #[test]
    fn reverses_by_character() {
        assert_eq!(TextStats::reverse("a🦀e\u{301}".to_owned()), "\u{301}e🦀a");
    }
}
