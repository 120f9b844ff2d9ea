"""Words as the rule-based human compares them: in lower case, without endings, and with synonyms grouped."""

from __future__ import annotations

import re
from functools import lru_cache

WORD = re.compile(r"[a-z]+|\d+")
EMPTY_PHRASES = re.compile(
    r"\bso far\b|\bstep by step\b|\b(?:looks? |(?:is|are) (?:this|that|these) )"
    r"(?:right|correct|good|fine|ok)\b|n't\b|['’]s\b|"
    r"\b(?:full|exact|complete) (?:logic|rules|specification)\b|\b(?:special|edge|corner|normal) cases?\b|"
    r"\blist (?:all|every)\b|\bhelp (?:me|you|us)\b"
)
EMPTY_WORDS = frozenset(
    """
    a able about actually affect affects again all also am an and another any anybody anyone
    anything applied applies apply are as ask assume at be because become becomes been being both
    briefly but by call called calls came can clarify come comes confirm consider considered correct
    correctly could currently deal dealt decide decided define defined depend depends describe
    detail details determine determined did difference do does doing done during each either else
    ensure ever every everything exact exactly example examples exist exists expect explain follow
    followed for from function further general get gets getting give given gives go goes going got
    had handle handled handles handling happen happens has have having hello her here hi hidden him
    his how however i if implement implementation in including information instead into involve
    involved is it its itself just kind know let like logic make many matter matters may me mean
    means mention might more much must my myself need needed needs not now of often ok okay on one
    ones only or other otherwise our out own parameter particular perhaps place please possible
    possibly prefer preferred problem provide put python question questions rather read really
    reference regarding relevant requirement requirements rule rules said say see seem seems set
    sets shall she should show simply situation situations so some somebody somehow someone
    something specific specifically specification specify still such supposed sure talk tell tells
    than thank thanks that the their them then there these they thing things think this those
    through time times to too treat treated understand up us use used uses using usual usually
    various very want wants was way ways we well were what whatever when where whether which while
    who whose why will wish with within word words works would write yes yet you your yourself
    """.split()  # noqa: SIM905 - one readable block
)
ROOFS = (
    "maximum max cap ceiling limit upper highest most top",
    "minimum min floor lowest least smallest bottom",
    "round precision precise decimal rounding",
    "tie tied equal same identical draw even",
    "missing none null absent lack lacking unavailable",
    "no nothing nobody without empty blank",
    "order sort sequence arrange arrangement",
    "output return result outcome back",
    "answer result report figure",
    "format shape form represent representation present presented structure style show display look",
    "discount rebate reduction deduct reduce off cheap cheaper less save",
    "fee price charge cost pay tariff rate expensive",
    "late overdue delay tardy",
    "threshold cutoff limit boundary",
    "penalty lose punish minus malus",
    "subtract deduct take minus",
    "keep kept stay remain",
    "affect influence impact",
    "bonus extra reward additional surcharge supplement premium",
    "duplicate repeat twice double repetition",
    "negative below minus under",
    "above over beyond exceed more greater larger",
    "start begin beginning first open opening initial",
    "end finish final last close closing",
    "length long duration",
    "short brief",
    "uppercase lowercase capitalization capitalisation capitalise capitalize",
    "weight heavy kilo kg gram weigh",
    "outlier implausible spike faulty unreliable suspicious wrong invalid bad",
    "plausible believable realistic credible valid",
    "ignore skip drop exclude discard omit leave remove left disregard filter delete strip",
    "include included inclusive count cover covered",
    "gap break pause between",
    "separator separate delimiter join glue",
    "merge combine unite join together",
    "percent percentage share proportion",
    "free gratis complimentary",
    "pack package box bundle",
    "everybody everyone",
    "child children kid minor",
    "reset restart renew anew",
    "encrypt encode encipher replace substitute",
    "equal same constant identical alike uniform",
    "quantity amount volume number",
    "player participant competitor member",
    "portion serving helping ration dose",
    "refuse reject turn decline deny",
    "warn alarm alert remind message notify",
    "prove proof proven document receipt evidence",
    "carry load transport hold contain take",
    "sensitive fragile delicate careful care",
    "clubmate club colleague teammate",
    "tiny small little low",
    "multiplier factor multiply multiplied",
    "average mean",
    "entry line row",
    "rank place position",
    "reserve buffer safety spare",
    "second third other",
    "worth value count point",
    "choice preference wish pick",
    "advantage benefit preference prefer favour privilege perk",
    "split divide share divisible",
    "remainder rest leftover remaining",
    "evenly equal divisible",
    "fixed flat constant base basic",
    "special different exceptional exception unusual",
    "allow permit accept admit may",
    "fair enough sufficient insufficient",
    "fail failed pass",
    "far remote distant distance away",
    "symbol punctuation comma dash hyphen slash apostrophe sign",
    "digit number numeral figure",
    "priority urgency precedence",
    "increase grow rise raise",
    "night nightly midnight dark",
    "supply stock store reserve",
    "consecutive row streak successive running",
    "finish goal target destination",
    "person head member individual",
    "suffice enough sufficient need",
    "remove delete strike leave cancel",
    "guest person people visitor",
    "noon midday lunch",
    "date day",
)
"""Groups of words that count as synonyms of each other; each string is one group."""


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the word without its ending. The result is the same for most forms of a word."""
    for ending, stays in (("ies", "y"), ("ing", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending) + stays
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word


def _roofs() -> dict[str, frozenset[str]]:
    roofs: dict[str, set[str]] = {}
    for roof in ROOFS:
        members = [stem(word) for word in roof.split()]
        for member in members:
            roofs.setdefault(member, set()).update(members)
    return {word: frozenset(others - {word}) for word, others in roofs.items()}


SYNONYMS = _roofs()
"""The synonyms of each stem, as stems."""


def content(text: str) -> tuple[str, ...]:
    """Return the stems of the words that carry the meaning of a text, in order, without repetition."""
    words = WORD.findall(EMPTY_PHRASES.sub("", text.lower()))
    return tuple(dict.fromkeys(stem(word) for word in words if word not in EMPTY_WORDS))
