"""Objects built from specs, and the error messages if this fails."""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
import textwrap

import pytest

from colbench import plugins
from colbench.errors import DataError, UserError
from colbench.participants import describe_for
from colbench.plugin_files import source_hash


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "my_agents.py"
    path.write_text(
        textwrap.dedent(
            """
            import json

            class Mine:
                def __init__(self, *, greeting: str = "hi"):
                    self.greeting = greeting

                async def reply(self, dialogue):
                    return self.greeting

            class Broken:
                def __init__(self):
                    raise RuntimeError("no license")

                async def reply(self, dialogue):
                    return ""

            class Yields:
                async def reply(self, dialogue):
                    yield ""

            class Mute:
                pass

            class Plain:
                def reply(self, dialogue):
                    return "hi"

            class Needy:
                def __init__(self, key, *, hurry=0):
                    pass

            class Garbled:
                def __init__(self):
                    json.loads("{")

            def speak(messages, model):
                return model

            ready = Mine(greeting="ready")
            """
        )
    )
    return path


def test_a_class_in_a_file_is_built_with_the_arguments(module):
    agent = plugins.resolve("agent", f"{module}:Mine", {"greeting": "hello"})
    assert agent.greeting == "hello"
    said = plugins.describe(agent)
    assert said["class"] == "my_agents:Mine"
    module.write_text(module.read_text() + "\n# changed\n")
    assert plugins.describe(agent)["source"] != said["source"]


def test_files_with_the_same_name_have_separate_hashes_and_can_import_and_pickle(tmp_path):
    source = "import helper\n\n\nclass Mine:\n    async def {}: return helper.TEXT\n"
    for role, method in (("agent", "reply(self, dialogue)"), ("human", "respond(self, task, it)")):
        (tmp_path / role).mkdir()
        (tmp_path / role / "mine.py").write_text(source.format(method))
        (tmp_path / role / "helper.py").write_text("TEXT = 'hello'\n")
    agent = plugins.resolve("agent", f"{tmp_path}/agent/mine.py:Mine", {})
    human = plugins.resolve("human", f"{tmp_path}/human/mine.py:Mine", {})
    first, second = plugins.describe(agent), plugins.describe(human)
    assert first["class"] == second["class"] == "mine:Mine"
    (tmp_path / "agent/mine.py").write_text("# changed")
    assert plugins.describe(agent)["source"] not in (first["source"], second["source"])
    assert plugins.describe(human) == second
    for each in (agent, human):
        assert type(pickle.loads(pickle.dumps(each))) is type(each)


def write(folder, sources):
    """Write source files by path."""
    for name, source in sources.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)


@pytest.mark.parametrize(
    "imports",
    [
        "from helper import Q",
        "import helper as h",
        "def late():\n    import helper.more",
        "import middle",
        "from parts import middle",
    ],
)
def test_the_source_of_an_agent_includes_the_local_modules_that_it_imports(tmp_path, imports):
    middle = {"middle.py": "import helper", "parts/middle.py": "from helper import Q"}
    write(tmp_path, {"main.py": imports, "helper.py": "Q = 1", "other.py": "", **middle})
    first = source_hash(tmp_path / "main.py")
    write(tmp_path, {"other.py": "x = 1", "parts/other.py": "", "data.json": "{}"})
    assert source_hash(tmp_path / "main.py") == first
    write(tmp_path, {"helper.py": "Q = 2"})
    assert source_hash(tmp_path / "main.py") != first
    write(tmp_path, {"helper.py": "Q = 1"})
    assert source_hash(tmp_path / "main.py") == first


@pytest.mark.parametrize(
    "imports", ["from .helper import x", "from pack import helper", "from . import x"]
)
def test_the_source_of_an_agent_in_a_package_includes_the_modules_of_the_package(tmp_path, imports):
    sources = {"pack/__init__.py": "from .helper import x", "pack/helper.py": "x = 1"}
    write(tmp_path, {**sources, "pack/main.py": f"import outside\n{imports}"})
    first = source_hash(tmp_path / "pack/main.py")
    write(tmp_path, {"outside.py": "x = 1"})
    assert source_hash(tmp_path / "pack/main.py") == first
    write(tmp_path, {"pack/helper.py": "x = 2"})
    assert source_hash(tmp_path / "pack/main.py") != first


@pytest.mark.parametrize("folder", ["mine", "site-packages"])
def test_without_local_modules_the_source_of_an_agent_is_its_file(tmp_path, folder):
    source = "import colbench.errors, numpy.random\nfrom ................ import x\n"
    source += "import helper\n" if folder == "site-packages" else ""
    others = {f"{folder}/colbench/errors.py": "", f"{folder}/helper.py": ""}
    write(tmp_path, {f"{folder}/main.py": source, **others})
    digest = hashlib.sha256(source.encode()).hexdigest()
    assert source_hash(tmp_path / folder / "main.py") == f"sha256:{digest}"


def test_a_file_with_the_name_of_a_loaded_module_does_not_replace_the_module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)  # at the end of the test, sys.path is restored
    file = tmp_path / "json.py"
    file.write_text("class Mine:\n    async def reply(self, dialogue): ...\n")
    agent = plugins.resolve("agent", f"{file}:Mine", {})
    assert sys.modules["json"] is json
    assert plugins.describe(agent)["class"] == "json:Mine"


def test_an_edited_file_is_imported_again(module):
    module.write_text(module.read_text().replace('"hi"', '"welcome"'))
    first = plugins.resolve("agent", f"{module}:Mine", {})
    module.write_text(module.read_text().replace('"welcome"', '"good evening"'))
    second = plugins.resolve("agent", f"{module}:Mine", {})
    assert (first.greeting, second.greeting) == ("welcome", "good evening")


def test_an_instance_in_a_file_is_used_unchanged(module):
    assert plugins.resolve("agent", f"{module}:ready", {}).greeting == "ready"


def test_an_installed_name_is_found_and_its_argument_follows_the_colon(monkeypatch):
    assert plugins.describe(plugins.resolve("agent", "blank", {}))["class"].endswith(":Blank")
    human = plugins.resolve("human", "openai:m@http://h:1/v1", {"max_chars": 100})
    assert plugins.describe(human)["model"] == "m"
    assert plugins.describe_domain(human, "backend")["max_chars"] == "100"


@pytest.mark.parametrize(
    ("spec", "args", "message"),
    [
        (
            "nobody",
            {},
            "--agent nobody: unknown, and not a Python module; installed: .*blank, cmd:…, .*interviewer",
        ),
        (
            "no.such.module:Agent",
            {},
            "--agent no.such.module:Agent: unknown, and not a Python module; installed:",
        ),
        (
            "openia:gpt-4o",
            {},
            "unknown, and not a Python module; did you mean `openai:gpt-4o`",
        ),
        (
            "colbench.no_such_part:Agent",
            {},
            "the import failed\nModuleNotFoundError: No module named 'colbench.no_such_part'",
        ),
        ("no_such_file.py:Agent", {}, "the file .*no_such_file.py does not exist"),
        (
            "{module}",
            {},
            "choose the agent with .*py:NAME; the file defines Mine, Broken, .*, Garbled, speak, ready$",
        ),
        (
            "openai",
            {},
            "--agent openai: write openai:MODEL or openai:MODEL@URL$",
        ),
        (
            "{module}:Needy",
            {"hurry": 1},
            "'key'; arguments for --agent-arg NAME=VALUE: key, hurry$",
        ),
        (
            "{module}:speak",
            {},
            "NAME=VALUE: messages, model; if the function itself is the agent, its first",
        ),
        ("{module}:Nobody", {}, "has no `Nobody`; the file defines Mine, Broken, .*speak, ready$"),
        (
            "{module}:Brokn",
            {},
            r"no `Brokn`; did you mean `Broken`\? The file defines Mine, Broken,",
        ),
        ("blank:nothing", {}, "nothing may follow the colon; it has no arguments for --agent-arg$"),
        (
            "demonstrator",
            {"slip": 1},
            r"no argument `slip`; did you mean `slips`\? Arguments for --agent-arg NAME=VALUE: knows",
        ),
        (
            "{module}:Mine",
            {"volume": 1},
            "no argument `volume`; arguments for --agent-arg NAME=VALUE: greeting",
        ),
        (
            "openai:m@http://h:1/v1",
            {"max_tokens": "many"},
            "^--agent-arg max_tokens=many: expected `int`, got `str`$",
        ),
        ("openai:m@http://h:1/v1", {"max_tokens": 0}, "max_tokens=0: expected `int` >= 1$"),
        ("openai:m@http://h:1/v1", {"timeout": 0}, "timeout=0: expected `float` > 0"),
        (
            "openai:m@http://h:1/v1",
            {"temperature": "hot"},
            "temperature=hot: expected `float`, got `str`$",
        ),
        (
            "openai:m@http://h:1/v1",
            {"max_completion_tokens": "x"},
            "max_completion_tokens=x: expected a whole",
        ),
        ("http://127.0.0.1:1", {"retries": -1}, "^--agent-arg retries=-1: expected `int` >= 0$"),
        ("cmd:true", {"startup_timeout": "x"}, "startup_timeout=x: expected `float`, got `str`$"),
        ("{module}:Broken", {}, "building it failed\nRuntimeError: no license"),
        ("{module}:Garbled", {}, r"building it failed\nJSONDecodeError: .* \(my_agents.py:\d+\)"),
        ("{module}:Plain", {}, "`reply` of my_agents:Plain must be `async def`"),
        (
            "{module}:Yields",
            {},
            "`reply` of my_agents:Yields must return one message; replace `yield`",
        ),
        (
            "{module}:Mute",
            {},
            r"my_agents:Mute has no method `reply`; define `async def reply\(self, dialogue\)`, or `open\(",
        ),
    ],
)
def test_an_invalid_spec_raises_an_error_that_explains_it(module, spec, args, message):
    with pytest.raises(UserError, match=message):
        plugins.resolve("agent", spec.format(module=module), args)


def test_a_human_that_is_text_gets_no_advice_about_agents(tmp_path):
    (tmp_path / "humans.py").write_text("def answer():\n    return 'I do not know.'\n")
    with pytest.raises(UserError, match="str has no method `respond`; define `async def respond"):
        plugins.resolve("human", f"{tmp_path}/humans.py:answer", {})


@pytest.mark.parametrize(
    ("kind", "spec", "args", "message"),
    [
        (
            "agent",
            "openai:m@http://h/v1",
            {"client": "x"},
            "^--agent-arg client=x: unknown; choose",
        ),
        (
            "human",
            "openai:m@http://h/v1",
            {"client": "x"},
            "^--human-arg client=x: unknown; choose",
        ),
        (
            "agent",
            "openai:m@http://h/v1",
            {"extra_body": 5},
            "^--agent-arg extra_body=5: expected a JSON object",
        ),
        ("agent", "openai:m@", {}, "^--agent openai:m@: `m@` has no URL after the `@`"),
        ("agent", "vllm:", {}, "^--agent vllm: the model is missing"),
        ("agent", "demonstrator", {"persona": "x"}, "^--agent-arg persona=x: expected"),
    ],
)
def test_an_error_of_a_factory_names_the_flag(kind, spec, args, message):
    with pytest.raises(UserError, match=message):
        plugins.resolve(kind, spec, args)


def test_a_failing_describe_raises_a_user_error():
    class Vague:
        def describe(self):
            raise ValueError("who am I?")

    with pytest.raises(UserError, match="describe failed\nValueError: who am I"):
        plugins.describe(Vague())


def test_a_failing_describe_domain_raises_a_user_error():
    class Vague:
        def describe_domain(self, domain):
            raise ValueError(domain)

    with pytest.raises(UserError, match="describe_domain failed\nValueError: backend"):
        plugins.describe_domain(Vague(), "backend")


def test_description_keys_that_look_like_domain_keys_are_kept():
    class Limited:
        def describe(self):
            return {"max_tokens": 9, "frontend_seen": "yes"}

        def describe_domain(self, domain):
            return {"tokens": 5, "for": domain}

    said = describe_for(Limited(), ["backend"])
    del said["class"], said["source"]
    assert said == {
        "max_tokens": "9",
        "frontend_seen": "yes",
        "backend_tokens": "5",
        "backend_for": "backend",
    }


def test_a_file_that_exits_when_imported_is_reported_as_a_failed_import(tmp_path):
    path = tmp_path / "exits.py"
    path.write_text("import sys; sys.exit('bye')\n")
    with pytest.raises(UserError, match="the import failed\nSystemExit: bye"):
        plugins.resolve("agent", f"{path}:Agent", {})


def test_a_byte_order_mark_in_a_task_file_is_ignored(tmp_path):
    path = tmp_path / "tasks.jsonl"
    row = '{"problem_description": "p", "ground_truth": "def f(): pass", "test_cases": {"test1": "f()"}}'
    path.write_text(row, "utf-8-sig")
    assert len(plugins.resolve_tasks(str(path))) == 1


def test_a_folder_in_place_of_a_task_file_is_refused(tmp_path):
    with pytest.raises(UserError, match="this is a folder; choose a task file in it"):
        plugins.resolve_tasks(str(tmp_path))


def test_an_import_error_in_a_file_is_reported_in_two_lines(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("import nothing_like_this\n")
    with pytest.raises(UserError) as caught:
        plugins.resolve("agent", f"{path}:Agent", {})
    assert str(caught.value).splitlines() == [
        f"--agent {path}:Agent: the import failed",
        "ModuleNotFoundError: No module named 'nothing_like_this' (bad.py:1)",
    ]


def test_the_error_for_an_unknown_task_source_lists_the_known_ones():
    with pytest.raises(UserError, match=r"neither a file nor a known source; .*bundled:…, file:…"):
        plugins.resolve_tasks("bundle:backend")


def test_the_error_for_a_malformed_row_names_file_line_and_field(tmp_path):
    path = tmp_path / "tasks.jsonl"
    good = '{"problem_description": "p", "ground_truth": "def f(): pass", "test_cases": {"test1": "f()"}}'
    path.write_text(good + '\n{"problem_description": 3}\n')
    with pytest.raises(
        DataError, match=r"tasks.jsonl, line 2: `problem_description`: expected a string"
    ):
        plugins.resolve_tasks(str(path))
    path.write_text(good + "\n{oops\n")
    with pytest.raises(DataError, match=r"tasks.jsonl, line 2: JSON is malformed"):
        plugins.resolve_tasks(str(path))
    path.write_text(good + '\n{"problem_description": "p"}\n')
    with pytest.raises(DataError, match=r"line 2: .*`ground_truth`"):
        plugins.resolve_tasks(str(path))


def test_malformed_rows_are_skipped_and_listed_on_request(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text('{oops\n{"problem_description": "p", "ground_truth": "<p>"}\n{}\n')
    malformed = []
    assert len(plugins.resolve_tasks(str(path), malformed)) == 1
    assert [flaw.partition(":")[0] for flaw in malformed] == [f"{path}, line 1", f"{path}, line 3"]
    path.write_text("{oops\n")
    with pytest.raises(DataError, match=r"tasks.jsonl, line 1: JSON is malformed"):
        plugins.resolve_tasks(str(path), [])
    path.write_text("")
    with pytest.raises(DataError, match="contains no task"):
        plugins.resolve_tasks(str(path))
