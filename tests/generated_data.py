"""Small data sets in the layouts of the real ones, so that claims on data run without any."""

import numpy as np

from repro.data import cifar10, parallel

NOUNS = {  # English: German, its article as subject, as object
    "dog": ("Hund", "der", "den"), "cat": ("Katze", "die", "die"), "child": ("Kind", "das", "das"),
    "man": ("Mann", "der", "den"), "woman": ("Frau", "die", "die"), "horse": ("Pferd", "das", "das"),
}  # fmt: skip
ADJECTIVES = {"old": "alt", "small": "klein", "red": "rot", "quick": "schnell"}
VERBS = {"sees": "sieht", "finds": "findet", "hears": "hört", "seeks": "sucht"}
PLACES = {"garden": "Garten", "wood": "Wald", "park": "Park"}
TIMES = {"today": "Heute", "often": "Oft", "now": "Jetzt"}


def parallel_text(folder, rng, *, training=600, tests=60):
    """Sentences of a toy grammar, as a user's own WMT14: point the variable WMT14 at the folder.

    Who does it to whom is told by the order of English words alone, and German has another order.
    """
    pairs = {}
    while len(pairs) < training + tests:
        pairs.setdefault(*_pair(rng))
    every = list(pairs.items())
    parallel.write(folder, "train", every[tests:])
    parallel.write(folder, "newstest2014", every[:tests])


def _pair(rng):
    (time, zeit), (verb, tut) = _one(rng, TIMES), _one(rng, VERBS)
    (place, ort), (look, art) = _one(rng, PLACES), _one(rng, ADJECTIVES)
    who, whom = (_phrase(rng, case) for case in (1, 2))
    english = f"the {who[0]} {verb} the {whom[0]} in the {look} {place} {time} ."
    return english, f"{zeit} {tut} {who[1]} im {art}en {ort} {whom[1]} ."


def _phrase(rng, case):
    (noun, forms), (adjective, eigen) = _one(rng, NOUNS), _one(rng, ADJECTIVES)
    ending = "en" if forms[case] == "den" else "e"
    return f"{adjective} {noun}", f"{forms[case]} {eigen}{ending} {forms[0]}"


def _one(rng, words):
    key = sorted(words)[rng.integers(len(words))]
    return key, words[key]


def images(folder, rng, *, count=100):
    """Six files of so many images, in the binary layout: point the variable CIFAR10 at the folder.

    One of 16 squares of 8 x 8 pixels, anywhere, has a colour, the others are grey noise: which one
    of ten colours is the class.
    """
    folder.mkdir(parents=True)
    angles = 2 * np.pi * (np.arange(10)[:, None] / 10 + np.arange(3) / 3)
    colours = 120 + 100 * np.cos(angles)
    for name in cifar10.FILES:
        labels, place = rng.integers(10, size=count), rng.integers(16, size=count)
        squares = rng.normal(110, 25, size=(count, 4, 8, 4, 8, 1)).repeat(3, axis=-1)
        row, column = np.divmod(place, 4)
        squares[np.arange(count), row, :, column] = colours[labels][:, None, None]
        picture = squares.clip(0, 255).astype(np.uint8).reshape(count, 1024, 3)
        (folder / f"{name}.bin").write_bytes(cifar10.records(picture, labels.tolist()))
    return folder
