"""Reading what a person types: lines that form a message, the end of the message, and commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from colbench.cli.play import screen
from colbench.cli.play.editor import edit, editor
from colbench.cli.play.keyboard import Keyboard
from colbench.errors import ColBenchError, UserError
from colbench.messages import ANSWER_MARKER
from colbench.presentation import Draft

STOP = "."
COMMAND = re.compile(r"/[a-z]+(?:\s.*)?")
FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.M)
PAGE = re.compile(r"<!doctype\b|<html\b", re.I)
PAGE_END = re.compile(r"</html\s*>", re.I)
PASTE = "Paste or type the text; a line with a single dot ends it."
NOTHING = "Nothing was written, and nothing was sent."
HELP = {
    "/answer": (
        "/answer [FILE]",
        "give the final answer: from FILE, else from $EDITOR or from the terminal",
    ),
    "/edit": (
        "/edit [FILE]",
        "send FILE as a message, else write it in $EDITOR or in the terminal",
    ),
    "/hidden": ("/hidden", "show what only you know"),
    "/help": ("/help", "show this list"),
    "/quit": ("/quit", "quit; the unfinished dialogue is not kept"),
}
ENDS = (
    "An empty line ends the message. If the message has an answer, code or a page, a line with a single dot ends the "
    "message instead. Ctrl-D ends any message."
)


class QuitError(ColBenchError):
    """The error that is raised when the person at the keyboard quits, or when the input ends."""


class Pen:
    """A reader of the person's messages and commands; `own` maps the name of each additional command to a function."""

    def __init__(self, keyboard: Keyboard, own: Mapping[str, Callable[[], None]]) -> None:
        self._keyboard = keyboard
        self._own = own

    async def message(self, draft: Draft, *, answers: bool) -> str:
        """Return the next message, which may be the final answer if `answers` is True.

        `draft`: the text that the editor shows first. Raises QuitError if the person quits or the input ends.
        """
        while True:
            text = await self._text()
            if not COMMAND.fullmatch(text):
                return text
            name, _, argument = text.partition(" ")
            try:
                said = await self._obey(name, argument.strip(), draft, answers)
            except UserError as error:
                screen.note(f"{error}; nothing was sent")
                continue
            if said is not None:
                return said

    async def another(self) -> bool:
        """Ask whether to continue with the next task, and return True to continue."""
        line = await self._keyboard.line("Enter for the next task, /quit to stop: ")
        return line is not None and line.strip() != "/quit"

    async def _text(self) -> str:
        """Return the text of a message, or a line with a command such as `/edit FILE`.

        The end of the input (Ctrl-D) also ends a message. Blank lines before a message are ignored. Raises QuitError
        if the input ends before a message begins.
        """
        text = ""
        while True:
            line = await self._keyboard.line("  " if text else "> ")
            if line is None and not text:
                raise QuitError
            if line is None or _ends(line, text):
                if text.strip():
                    return text.strip("\n")
                text = ""
            elif not text and COMMAND.fullmatch(line.rstrip()):
                return line.rstrip()
            else:
                before, text = text, f"{text}{line}\n"
                if is_code(text) and not is_code(before):
                    screen.note(
                        "Empty lines now belong to the text; a line with a single dot ends the message."
                    )

    async def _obey(self, name: str, argument: str, draft: Draft, answers: bool) -> str | None:
        """Execute a command, and return the text to send, if the command produces one."""
        if name == "/quit":
            raise QuitError
        if name in self._own:
            self._own[name]()
        elif name == "/edit":
            if text := await self._written(argument, draft):
                return text
            screen.note(NOTHING)
        elif name == "/answer" and answers:
            text = await self._written(argument, draft)
            if text not in ("", draft.text.strip()) or not draft.required:
                return f"{ANSWER_MARKER}\n{text}"
            screen.note(NOTHING)
        else:
            if name != "/help":
                screen.note(
                    f"Unknown command {name}; to send it as a message, put a space before it."
                )
            self.show_help(answers)
        return None

    async def _written(self, file: str, draft: Draft) -> str:
        if file:
            return _read(file).strip()
        if editor() and self._keyboard.typed:
            return (await edit(draft.text, draft.suffix)).strip()
        screen.note(PASTE)
        lines = list[str]()
        while (line := await self._keyboard.line("  ")) not in (STOP, None):
            lines.append(line or "")
        return "\n".join(lines).strip("\n")

    def show_help(self, answers: bool) -> None:
        """Print how to end a message, and list the commands."""
        screen.note(ENDS)
        known = {"/edit", "/help", "/quit", *self._own, *(["/answer"] if answers else [])}
        screen.commands([HELP[name] for name in HELP if name in known])


def is_code(text: str) -> bool:
    """Return True if empty lines do not end a message that begins with this text.

    The text then has an answer marker, or a code fence or page that is still open.
    """
    begins = [found.start() for found in PAGE.finditer(text)]
    open_page = bool(begins) and not PAGE_END.search(text, begins[-1])
    return ANSWER_MARKER in text or len(FENCE.findall(text)) % 2 == 1 or open_page


def _ends(line: str, text: str) -> bool:
    return line == STOP or (not line.strip() and not is_code(text))


def _read(file: str) -> str:
    try:
        return Path(file).expanduser().read_text("utf-8", "replace")
    except OSError as cause:
        raise UserError(f"{file}: cannot be read: {cause.strerror}") from cause
