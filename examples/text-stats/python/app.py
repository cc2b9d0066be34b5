"""The text service in Python. What it must answer is defined in ../wit/text-stats.wit.

A failure is raised as `Err` around the contract's variant, which becomes the `err` case of the result.
The module `wit_world` is made from the contract when the component is built.
"""

import re
from collections import Counter

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.analyze import (
    Entry,
    Failure_Empty,
    Failure_TooLong,
    Order,
    Order_ByCount,
    Order_ByLength,
    Stats,
)

CHARACTERS_MAX = 100_000
WORD = re.compile("[A-Za-z0-9]+")


def accept(text: str) -> list[str]:
    """The words of a text that is neither too long nor without a word."""
    if len(text) > CHARACTERS_MAX:
        raise Err(Failure_TooLong(len(text)))
    words = [word.lower() for word in WORD.findall(text)]
    if not words:
        raise Err(Failure_Empty())
    return words


def sole_longest(words: list[str]) -> str | None:
    """The longest word, or None when two different words share that length."""
    longest = max(words, key=len)
    shared = any(len(word) == len(longest) and word != longest for word in words)
    return None if shared else longest


class Analyze(exports.Analyze):
    """The exported interface; its name is fixed by the contract."""

    def analyze(self, text: str) -> Stats:
        words = accept(text)
        return Stats(
            characters=len(text),
            words=len(words),
            lines=text.count("\n") + (not text.endswith("\n")),
            longest=sole_longest(words),
            average_word_length=sum(map(len, words)) / len(words),
        )

    def top_words(self, text: str, order: Order, limit: int) -> list[Entry]:
        counts = sorted(Counter(accept(text)).items())
        # Sorts are stable, so that equals stay alphabetical.
        match order:
            case Order_ByCount():
                counts.sort(key=lambda entry: -entry[1])
            case Order_ByLength(at_least):
                counts = [entry for entry in counts if len(entry[0]) >= at_least]
                counts.sort(key=lambda entry: -len(entry[0]))
        return [Entry(word, count) for word, count in counts[:limit]]

    def reverse(self, text: str) -> str:
        return text[::-1]
