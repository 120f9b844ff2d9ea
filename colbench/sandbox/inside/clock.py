"""A shifted clock for the second run of a reference, to find values that depend on the time.

Only the common Python functions for time are shifted. If a reference reads the time in another way, its values differ
only if the short time between the two runs changes them.
"""

from __future__ import annotations

import datetime as datetime_module
import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any


def shift_clock(seconds: float) -> None:
    """Move the clock of `time` and `datetime` ahead by `seconds` in this process."""
    _shift_time(seconds)
    _shift_datetime(timedelta(seconds=seconds))


class _StandIn(type):
    """A metaclass for a class that replaces its base class: `isinstance` also accepts instances of the base class.

    The replacing class names its base class in `replaced`. Subclasses of the replacing class behave as usual.
    """

    def __instancecheck__(cls, value: object) -> bool:
        return type.__instancecheck__(vars(cls).get("replaced", cls), value)


def _shift_datetime(span: timedelta) -> None:
    class ShiftedDate(date, metaclass=_StandIn):
        replaced = date

        @classmethod
        def today(cls) -> Any:
            return cls.fromordinal((datetime.now() + span).toordinal())

        def __repr__(self) -> str:
            return _qualified(self, super().__repr__())

    class ShiftedDatetime(datetime, metaclass=_StandIn):
        replaced = datetime

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return super().now(tz) + span

        @classmethod
        def utcnow(cls) -> Any:
            return super().now(UTC).replace(tzinfo=None) + span

        @classmethod
        def today(cls) -> Any:
            return cls.now()

        def date(self) -> Any:
            return ShiftedDate(self.year, self.month, self.day)

        def __repr__(self) -> str:
            return _qualified(self, super().__repr__())

    for name, shifted in (("date", ShiftedDate), ("datetime", ShiftedDatetime)):
        shifted.__module__, shifted.__name__, shifted.__qualname__ = "datetime", name, name
        setattr(datetime_module, name, shifted)


def _qualified(value: date, text: str) -> str:
    """Return `text`, the representation of `value`, with the prefix `datetime.`; return it unchanged for a subclass."""
    shifted = (datetime_module.date, datetime_module.datetime)
    return f"datetime.{text}" if type(value) in shifted else text


def _shift_time(seconds: float) -> None:
    now, now_ns = time.time, time.time_ns
    localtime, gmtime, strftime = time.localtime, time.gmtime, time.strftime

    def moment(given: Any) -> Any:
        return now() + seconds if given is None else given

    shifted = {
        "time": lambda: now() + seconds,
        "time_ns": lambda: now_ns() + int(seconds * 1e9),
        "localtime": lambda given=None: localtime(moment(given)),
        "gmtime": lambda given=None: gmtime(moment(given)),
        "ctime": lambda given=None: time.asctime(localtime(moment(given))),
        "strftime": lambda form, given=None: strftime(form, given or time.localtime()),
    }
    for name, function in shifted.items():
        setattr(time, name, function)
