"""The parts between navigation and footer, by name. Each is a function of business and design only."""

from colbench_tasks.frontend.sections import (  # noqa: F401 - the modules register their sections
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
