"""Whether an entry knew more than guessing explains.

In a dialogue in which so many hidden facts were not told, an answer that needs all of them is guessed with a chance of
at most 2^-(number of facts), as each leaves two choices or more. The sum of these chances over all such dialogues is
the number of answers that a guesser would get; how many more there are is judged by the Poisson distribution.
"""

from __future__ import annotations

from math import exp, fsum, lgamma, log

from msgspec import Struct

from colbench_leaderboard.verify.disclosure import Disclosure
from colbench_leaderboard.verify.findings import Findings

LEAST_UNTOLD = 3
"""Hidden facts; fewer may be plain enough to guess."""
ALPHA = 0.01
"""Below this chance an entry is flagged."""


class Known(Struct, kw_only=True):
    """Counts, over the dialogues of an entry, what was known untold."""

    dialogues: int = 0
    solved: int = 0
    copied: int = 0
    expected: float = 0.0

    def add(self, told: Disclosure) -> bool:
        """Count a dialogue; whether enough of it was untold."""
        if told.untold < LEAST_UNTOLD:
            return False
        self.dialogues += 1
        self.expected += 2.0**-told.untold
        self.solved += told.knew
        self.copied += told.copied
        return True

    def report(self, findings: Findings) -> None:
        """Flag what guessing does not explain."""
        for rule, count, what in (
            ("audit.undisclosed", self.solved, "do what"),
            ("audit.reference-copies", self.copied, "are the reference, or nearly, of which"),
        ):
            if count and at_least(count, self.expected) < ALPHA:
                findings.add(
                    rule,
                    f"{count:,} answers {what} their dialogues leave untold in {LEAST_UNTOLD} or more "
                    f"points, of {self.dialogues:,} such dialogues; a guesser would get {self.expected:.1f}",
                )


def at_least(count: int, mean: float) -> float:
    """The chance that a Poisson variable of that mean is `count` or more."""
    if mean <= 0 or count <= 0:
        return float(count <= 0)
    return max(0.0, 1 - fsum(exp(k * log(mean) - mean - lgamma(k + 1)) for k in range(count)))
