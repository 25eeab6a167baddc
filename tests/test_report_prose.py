"""The text at the top of a claim file, as blocks of the page."""

from repro.report import prose

TEXT = """Lemma 1 (paper): sums.

Two lines of one
paragraph,
    a + b = c,
    d = e
and its end. Checked here:
- an item
  of two lines
- another
Not checked: what
is left."""


def told(text):
    return [(block.kind, block.label, block.rest) for block in prose.blocks(text)]


def test_lines_become_paragraphs_items_and_formulas():
    assert told(TEXT) == [
        ("text", "", "Lemma 1 (paper): sums."),
        ("text", "", "Two lines of one paragraph,"),
        ("kept", "", "a + b = c,\nd = e"),
        ("text", "", "and its end. Checked here:"),
        ("item", "", "an item of two lines"),
        ("item", "", "another"),
        ("text", "Not checked:", " what is left."),
    ]


def test_a_label_is_words_and_a_colon():
    assert told("WMT2014: 26.85")[0][1] == ""
    assert told("Controls: two")[0][1] == "Controls:"
    assert told("- Controls: an item")[0] == ("item", "", "Controls: an item")
