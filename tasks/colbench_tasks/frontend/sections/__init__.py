"""The parts between navigation and footer, by name. Each is a function of nothing but business and design."""

from colbench_tasks.frontend.sections import (  # noqa: F401 - they register what they define
    figures,
    forms,
    goods,
    lists,
    pictures,
    prose,
    tables,
    voices,
)
from colbench_tasks.frontend.sections.section import SECTIONS, Section

__all__ = ["SECTIONS", "Section"]
