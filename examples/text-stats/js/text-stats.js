// The text service in JavaScript. What it must answer is defined in ../wit/text-stats.wit.
// A failure is thrown as the contract's variant: the toolchain turns it into the `err` case of the result.

const CHARACTERS_MAX = 100_000;

// A word is ASCII, so that UTF-16 units, characters and the default order of strings are the same for it.
const wordsOf = (text) => (text.match(/[A-Za-z0-9]+/g) ?? []).map((word) => word.toLowerCase());

/** Counts code points: a string's own length counts UTF-16 units. */
function charactersIn(text) {
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters;
}

function accept(text) {
  const characters = charactersIn(text);
  if (characters > CHARACTERS_MAX) throw { tag: 'too-long', val: characters };
  const words = wordsOf(text);
  if (words.length === 0) throw { tag: 'empty' };
  return { characters, words };
}

/** The longest word, or undefined when two different words share that length. */
function soleLongest(words) {
  const longest = words.reduce((best, word) => (word.length > best.length ? word : best));
  const shared = words.some((word) => word.length === longest.length && word !== longest);
  return shared ? undefined : longest;
}

const alphabetical = (a, b) => (a.word < b.word ? -1 : a.word > b.word ? 1 : 0);

export const analyze = {
  analyze(text) {
    const { characters, words } = accept(text);
    const wordCharacters = words.reduce((sum, word) => sum + word.length, 0);
    return {
      characters,
      words: words.length,
      lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
      longest: soleLongest(words),
      averageWordLength: wordCharacters / words.length,
    };
  },

  topWords(text, order, limit) {
    const { words } = accept(text);
    const counts = new Map();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    let entries = [...counts].map(([word, count]) => ({ word, count })).sort(alphabetical);
    // Sorts are stable, so that equals stay alphabetical.
    if (order.tag === 'by-count') {
      entries.sort((a, b) => b.count - a.count);
    } else if (order.tag === 'by-length') {
      entries = entries.filter((entry) => entry.word.length >= order.val);
      entries.sort((a, b) => b.word.length - a.word.length);
    }
    return entries.slice(0, limit);
  },

  reverse(text) {
    return [...text].reverse().join('');
  },
};
