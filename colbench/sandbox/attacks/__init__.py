"""The shipped corpus of exploits: attacks on the scoring of answers, and honest answers as controls."""

from __future__ import annotations

from colbench.sandbox.attacks.campaign import Finding, Report, attack_sandbox
from colbench.sandbox.attacks.canary import Canary
from colbench.sandbox.attacks.corpus import Attack, attacks, controls

__all__ = ["Attack", "Canary", "Finding", "Report", "attack_sandbox", "attacks", "controls"]
