"""Table 1, ENG-DE: what is trained at which scale.

A first training; then, from the weights it ends with, as many steps in the given order as in each
other one, so that no order has the longer training.
"""

from dataclasses import dataclass, replace

from repro.jiang2024.sentences import Selection
from repro.jiang2024.trained_translation import FitTranslation, InverseRoot, Recipe
from repro.jiang2024.translation import BASE, GIVEN, Shape
from repro.training import Adam, Muon, Trapezoid


@dataclass(frozen=True)
class Setting:
    selection: Selection
    shape: Shape
    recipe: Recipe
    further: int
    seed: int = 0

    def operations(self) -> float:
        """Of the first training: two for each product, forwards and twice backwards."""
        pairs = self.recipe.steps * self.recipe.tokens / 2  # a source and a target token
        return 6 * pairs * self.shape.products()

    @property
    def trainings(self) -> str:
        return f"two such, and four further ones of {self.further} steps"

    def first(self, texts: str, *, mismatched: bool = False) -> FitTranslation:
        return FitTranslation(texts, self.shape, self.recipe, self.seed, mismatched=mismatched)

    def tuned(self, texts: str, order: str) -> FitTranslation:
        recipe = replace(self.recipe, steps=self.further)
        first = self.first(texts)
        return replace(first, recipe=recipe, order=order, seed=self.seed + 1, start=first)

    def only_read(self, texts: str, order: str) -> FitTranslation:
        """The weights trained on in the given order, without a step in this one."""
        tuned = self.tuned(texts, GIVEN)
        return replace(tuned, recipe=replace(self.recipe, steps=0), order=order, start=tuned)


def _muon(lr: float, rest: float, steps: int, tokens: int) -> Recipe:
    optimizer = Muon(lr, Adam(rest, (0.9, 0.98)), apart=("embedding",))
    return Recipe(optimizer, Trapezoid(), steps, tokens)


# Vaswani et al. train on about 25000 source and as many target tokens a step, for 100000 steps; how
# long the permuted model was trained on is not printed, a tenth of that is ours. The recipes of the
# small ones are ours.
SMALL = Setting(Selection(6, 14, 100), Shape(800, 1, 64, 2, 128), _muon(0.03, 1e-2, 170, 1000), 50)
LAPTOP = Setting(
    Selection(4, 14, 500), Shape(3000, 2, 128, 4, 512), _muon(0.03, 8e-3, 330, 4000), 140
)
PAPER = Setting(
    Selection(1, 250, 3003),  # setting: the longest sentence, in words
    BASE,
    Recipe(Adam(BASE.width**-0.5 * 4000**-0.5, (0.9, 0.98)), InverseRoot(4000), 100_000, 50_000),
    10_000,
)
SCALES = {"smoke": SMALL, "laptop": LAPTOP, "paper": PAPER}
