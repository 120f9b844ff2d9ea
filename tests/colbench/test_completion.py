import shutil
import sys
from pathlib import Path

import pytest

from colbench.cli import main

pytest.importorskip("argcomplete")
pexpect = pytest.importorskip("pexpect")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_names_the_program(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "colbench" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("colbench compa", "colbench compare "),
        ("colbench eval --agent inter", "--agent interviewer "),
        ("colbench eval --retry", "--retry-failed "),
        ("colbench tasks val", "tasks validate "),
        ("colbench eval --domain fr", "--domain frontend "),
        ("colbench tasks list bundled:backend/tr", "bundled:backend/train"),
    ],
)
def test_bash_completes_commands_flags_and_values(typed, completed, tmp_path, capfd):
    main(["completion", "bash"])
    (tmp_path / "script").write_text(capfd.readouterr().out)
    program = tmp_path / "colbench"
    program.write_text(f"#!{sys.executable}\nfrom colbench.cli import main\nmain()\n")
    program.chmod(0o755)
    shell = pexpect.spawn("bash", ["--norc", "--noprofile"], encoding="utf-8", timeout=30)
    shell.sendline(
        f"PS1='$ '; PATH={Path(tmp_path)}:$PATH; source {tmp_path / 'script'}; echo rea''dy"
    )
    shell.expect("ready")
    shell.send(typed + "\t")
    shell.expect_exact(completed)
    shell.close(force=True)
