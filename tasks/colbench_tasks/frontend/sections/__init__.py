"""The sections between the navigation and the footer of a page, by name.

A section depends only on the business and the design.
"""

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
