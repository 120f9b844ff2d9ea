import pytest

from colbench.cli import main

CASES = {
    "eval --agent intervewer": "interviewer",
    "eval --human keyles": "keyless",
    "eval --tasks bundeld:backend": "bundled",
    "eval --tasks bundled:backnd": "backend",
    "eval --domain frontnd": "frontend",
    "eval --scoring oficial": "official",
    "eval --task-ids parkin-test-0001": "parking-test-0001",
    "tasks show parkin-test-0001": "parking-test-0001",
}
MISSPELLED_WORDS = {
    "evl": "eval",
    "tasks lst": "list",
    "eval --agnt guesser": "--agent",
}


@pytest.mark.parametrize(("line", "meant"), CASES.items())
def test_a_misspelled_value_is_an_error_that_names_the_likely_one(line, meant, capsys):
    assert main(line.split()) == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err


@pytest.mark.parametrize(("line", "meant"), MISSPELLED_WORDS.items())
def test_a_misspelled_command_or_flag_is_an_error_that_names_the_likely_one(line, meant, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(line.split())
    assert stopped.value.code == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err
