"""`colbench submit push`, and the receiving side: the entries that a branch adds, and the store's workflows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

import colbench
from colbench.cli import main
from colbench.errors import UserError
from colbench_leaderboard.bundle.read import read_bundle
from colbench_leaderboard.bundle.refused import Refused
from colbench_leaderboard.store.branches import new_entries
from colbench_leaderboard.store.repository import (
    ATTRIBUTES,
    AUDIT_WORKFLOW,
    IGNORED,
    WORKFLOW,
    write_repository_files,
)


def push(bundle, to, *flags):
    return main(["submit", "push", str(bundle), "--to", str(to), *flags])


def digest_of(bundle):
    with read_bundle(bundle) as opened:
        return opened.digest


def branches(git, folder):
    return git("branch", "--format=%(refname:short)", folder=folder).split()


def test_an_entry_becomes_a_branch_and_the_working_tree_is_unchanged(packed, repository, capsys):
    git, board = repository, repository.folder
    hook = board / ".git" / "hooks" / "post-commit"
    hook.write_text(f"#!/bin/sh\ntouch {board}/hooked\n")
    hook.chmod(0o755)
    (board / ".gitattributes").write_text("* text eol=crlf\n")
    (board / "draft.txt").write_text("unfinished")
    git("add", "draft.txt")
    before = git("status", "--porcelain")

    assert push(packed, board) == 0
    said = capsys.readouterr().out
    assert "nothing was sent" in said
    (branch,) = (name for name in branches(git, board) if name != "main")
    digest = digest_of(packed)
    assert branch == f"submission/guesser-{digest[:12]}"
    assert f"push -u origin {branch}" in said
    assert f"gh pr create --head {branch}" in said
    assert git("status", "--porcelain") == before
    assert git("rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    assert not (board / "hooked").exists()
    for path in (path for path in packed.rglob("*") if path.is_file()):
        name = f"{branch}:entries/{digest}/bundle/{path.relative_to(packed).as_posix()}"
        assert git("show", name).encode() == path.read_bytes()
    assert git("show", f"{branch}:README.md") == "A leaderboard.\n"


def test_an_entry_is_pushed_only_once(packed, repository, capsys):
    assert push(packed, repository.folder) == 0
    assert push(packed, repository.folder) == 2
    assert "the branch submission/guesser-" in capsys.readouterr().err
    branch = next(name for name in branches(repository, repository.folder) if name != "main")
    repository("merge", "--quiet", branch)
    assert push(packed, repository.folder) == 2
    assert "already exists" in capsys.readouterr().err


def test_pushing_to_a_url_requires_confirmation(packed, archived, repository, tmp_path, capsys):
    bare = tmp_path / "board.git"
    repository("clone", "--quiet", "--bare", str(repository.folder), str(bare))
    address = bare.as_uri()
    assert push(archived(packed), address) == 2  # standard input is not a terminal
    assert "add --yes" in capsys.readouterr().err
    assert branches(repository, bare) == ["main"]
    assert push(archived(packed), address, "--yes") == 0
    digest = digest_of(packed)
    assert f"submission/guesser-{digest[:12]}" in branches(repository, bare)
    assert "sent" in capsys.readouterr().out
    assert push(archived(packed), address, "--yes") == 2
    assert "this bundle was sent before" in capsys.readouterr().err


HOOKS = ("pre-receive", "update", "post-receive", "post-update", "reference-transaction")


@pytest.fixture
def hostile(packed, repository, tmp_path):
    """Return another user's local repository, whose hooks and settings leave a trace, and the path of the trace."""
    bare, other = tmp_path / "board.git", tmp_path / "other.git"
    for each in (bare, other):
        repository("clone", "--quiet", "--bare", str(repository.folder), str(each))
    trace = tmp_path / "trace"
    for name in HOOKS:
        hook = bare / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> {trace}\n")
        hook.chmod(0o755)
    (bare / "objects" / "info" / "alternates").write_text(f"{other}/objects\n")
    command = f"echo alternates >> {trace}; true"
    repository("config", "core.alternateRefsCommand", command, folder=bare)
    return bare, trace


def test_hooks_and_settings_of_a_local_repository_do_not_run_on_a_push(packed, repository, hostile):
    bare, trace = hostile
    repository("push", "--quiet", bare.as_uri(), "HEAD:refs/heads/by-git-alone")
    assert {*HOOKS, "alternates"} == set(trace.read_text().split())
    trace.unlink()
    assert push(packed, bare.as_uri(), "--yes") == 0
    assert len(branches(repository, bare)) == 3
    assert not trace.exists()


@pytest.mark.parametrize(
    "to",
    [
        "ext::sh -c touch% hacked",
        "--upload-pack=touch hacked",
        "-oProxyCommand=touch hacked",
        "fd::7",
        "http://example.org/x",
        "nowhere",
    ],
)
def test_a_target_that_is_neither_a_folder_nor_a_url_is_refused_and_not_run(
    to, packed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["submit", "push", str(packed), f"--to={to}", "--yes"]) == 2
    assert "neither a folder nor a URL" in capsys.readouterr().err
    assert not list(tmp_path.glob("*hacked*"))


def test_plain_folders_subfolders_and_empty_repositories_are_refused(
    packed, tmp_path, repository, capsys
):
    (tmp_path / "plain").mkdir()
    assert push(packed, tmp_path / "plain") == 2
    assert "not a git repository; for a new leaderboard, run" in capsys.readouterr().err
    (repository.folder / "inner").mkdir()
    assert push(packed, repository.folder / "inner") == 2
    said = capsys.readouterr().err
    assert f"a subfolder of a git working tree; use {repository.folder}" in said
    repository("init", "--quiet", str(tmp_path / "empty"))
    for to in (tmp_path / "empty", (tmp_path / "empty").as_uri()):
        assert push(packed, to, "--yes") == 2
        assert f"--to {to}: the repository has no commit yet" in capsys.readouterr().err


def test_a_repository_that_is_not_a_leaderboard_is_refused(packed, tmp_path, repository, capsys):
    repository("rm", "--quiet", "log.jsonl")
    repository("commit", "--quiet", "--message", "no store")
    bare = tmp_path / "other.git"
    repository("clone", "--quiet", "--bare", str(repository.folder), str(bare))
    for to in (repository.folder, bare.as_uri()):
        assert push(packed, to, "--yes") == 2
        said = capsys.readouterr()
        assert f"--to {to}: not a leaderboard: the repository's current commit has no" in said.err
        assert said.out == ""
    assert branches(repository, repository.folder) == branches(repository, bare) == ["main"]


def test_git_variables_in_the_environment_do_not_redirect_a_push(
    packed, repository, tmp_path, monkeypatch
):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert push(packed, repository.folder) == 0
    monkeypatch.undo()
    assert len(branches(repository, repository.folder)) == 2


def test_names_with_shell_syntax_become_plain_branch_names(packed, repository, seal, capsys):
    path = packed / "submission.json"
    values = json.loads(path.read_text()) | {"name": '$(touch hacked); `id` && "x" --force'}
    path.write_bytes(
        json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    )
    assert push(seal(packed), repository.folder) == 0
    branch = next(name for name in branches(repository, repository.folder) if name != "main")
    assert re.fullmatch(r"submission/touch-hacked-id-x-force-[0-9a-f]{12}", branch)
    assert not list(repository.folder.glob("hacked"))


@pytest.fixture
def open_branch(packed, repository):
    """Return a function that checks out an entry's branch, changes it, and returns the folder and the base commit."""

    def opened(change=lambda entry: None):
        git = repository
        base = git("rev-parse", "HEAD").strip()
        assert push(packed, git.folder) == 0
        git(
            "checkout",
            "--quiet",
            next(name for name in branches(git, git.folder) if name != "main"),
        )
        change(git.folder / "entries" / digest_of(packed))
        git("add", "--all", "--force")
        git("commit", "--quiet", "--allow-empty", "--message", "change")
        return git.folder, base

    return opened


def test_the_audit_prints_the_digests_of_a_branchs_new_entries(open_branch, packed, capsys):
    folder, base = open_branch()
    capsys.readouterr()
    assert main(["leaderboard", "audit", str(folder), "--added-since", base]) == 0
    assert capsys.readouterr().out == f"{digest_of(packed)}\n"


def moved(entry):
    entry.rename(entry.with_name("f" * 64))


def linked(entry):
    (entry / "bundle" / "blobs").mkdir()
    (entry / "bundle" / "blobs" / ("a" * 64)).symlink_to("/etc/passwd")


def executable(entry):
    (entry / "bundle" / "lock.json").chmod(0o755)


def workflow(entry):
    path = entry.parents[1] / WORKFLOW
    path.parent.mkdir(parents=True)
    path.write_text("on: push\n")


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (moved, "change.digest"),
        (linked, "change.mode"),
        (executable, "change.mode"),
        (workflow, "change.path"),
        (lambda e: (e.parents[1] / "README.md").write_text("Mine."), "change.path"),
        (lambda e: (e.parents[1] / "README.md").unlink(), "change.path"),
        (lambda e: (e / "verified").mkdir() or (e / "verified" / "scores.jsonl").touch(), "change.path"),
        (lambda e: (e / "bundle" / "$(id)\n.json").touch(), "change.path"),
        (lambda e: (e.parent / "short").mkdir() or (e.parent / "short" / "x").touch(), "change.path"),
        (shutil.rmtree, "change.none"),
    ],
)  # fmt: skip
def test_a_branch_that_does_anything_except_add_entries_is_refused(change, rule, open_branch):
    folder, base = open_branch(change)
    with pytest.raises(Refused) as caught:
        new_entries(folder, base)
    assert caught.value.rule == rule
    assert "\n" not in str(caught.value)


def test_a_branch_without_the_newest_commit_of_main_is_refused_until_main_is_merged(
    open_branch, repository, packed
):
    folder, _ = open_branch()
    repository("checkout", "--quiet", "main")
    repository("commit", "--quiet", "--allow-empty", "--message", "a later decision")
    newest = repository("rev-parse", "HEAD").strip()
    repository("checkout", "--quiet", "-")
    branch = repository("rev-parse", "--abbrev-ref", "HEAD").strip()
    repository("checkout", "--quiet", "--orphan", "unrelated")
    repository("commit", "--quiet", "--allow-empty", "--message", "no common commit")
    unrelated = repository("rev-parse", "HEAD").strip()
    repository("checkout", "--quiet", branch)
    for base in (newest, unrelated):
        with pytest.raises(UserError, match="merge the leaderboard's main branch into the branch"):
            new_entries(folder, base)
    repository("merge", "--quiet", "--no-edit", "main")
    assert new_entries(folder, newest) == [digest_of(packed)]


def test_an_identity_in_the_environment_is_the_author_of_the_commit(
    packed, repository, monkeypatch, tmp_path
):
    for key in ("user.name", "user.email"):
        repository("config", "--unset", key)
    monkeypatch.setenv("HOME", str(tmp_path))
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    assert push(packed, repository.folder) == 0
    branch = next(name for name in branches(repository, repository.folder) if name != "main")
    assert repository("log", "-1", "--format=%an %ce", branch).strip() == "Ada ada@example.org"


def test_a_branch_that_changes_an_existing_entry_is_refused(open_branch, repository):
    folder, _ = open_branch()
    base = repository("rev-parse", "HEAD").strip()
    lock = next(folder.glob("entries/*/bundle/lock.json"))
    lock.write_text("{}")
    repository("commit", "--quiet", "--all", "--message", "mine now")
    with pytest.raises(Refused, match="entries never change"):
        new_entries(folder, base)


@pytest.mark.parametrize("base", ["HEAD~1", "--output=/tmp/x", "main; id", "a" * 39])
def test_a_base_that_is_not_a_full_commit_hash_is_refused(base, repository, capsys):
    assert main(["leaderboard", "audit", str(repository.folder), f"--added-since={base}"]) == 2
    assert f"--added-since {base}: expected the full hash" in capsys.readouterr().err


def test_repository_files_are_written_only_once(tmp_path):
    files = [WORKFLOW, AUDIT_WORKFLOW, ATTRIBUTES, IGNORED]
    assert write_repository_files(tmp_path) == files
    assert write_repository_files(tmp_path) == []


@pytest.mark.parametrize(("workflow", "count"), [(WORKFLOW, 3), (AUDIT_WORKFLOW, 4)])
def test_workflows_have_no_secrets_no_write_access_and_no_script_injection(
    workflow, count, tmp_path
):
    write_repository_files(tmp_path)
    text = (tmp_path / workflow).read_text()
    assert f'"colbench=={colbench.__version__}"' in text
    assert re.findall(r"^permissions:\n((?:  .*\n)+)", text, re.MULTILINE) == ["  contents: read\n"]
    assert "pull_request_target" not in text
    assert "secrets." not in text
    assert "persist-credentials: false" in text
    for action in re.findall(r"uses: (\S+)", text):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)
    scripts = re.findall(r"^ +run: (?:\|\n)?((?:.+\n)+?)(?=^ {6}- |\Z)", text, re.MULTILINE)
    assert len(scripts) == count
    assert not any("${{" in script for script in scripts)


def test_the_workflow_installs_the_packages_that_a_store_names(tmp_path, capsys):
    store = tmp_path / "store"
    packages = "colbench-sql==1.0.0, my_families==0.2b1"
    assert main(["leaderboard", "init", str(store), "--packages", packages]) == 0
    text = (store / WORKFLOW).read_text()
    assert 'PACKAGES: "colbench-sql==1.0.0 my_families==0.2b1"' in text
    assert f'"colbench=={colbench.__version__}" $PACKAGES\n' in text
    write_repository_files(tmp_path)
    assert 'PACKAGES: ""' in (tmp_path / WORKFLOW).read_text()


@pytest.mark.parametrize("package", ["colbench-sql", "a==1;id", "a==1 --index-url=x", '"==1'])
def test_a_malformed_package_requirement_is_refused_and_creates_no_store(package, tmp_path, capsys):
    assert main(["leaderboard", "init", str(tmp_path / "store"), "--packages", package]) == 2
    assert f"--packages {package}: expected a name and a version" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_the_workflow_script_is_valid_bash(tmp_path):
    write_repository_files(tmp_path)
    lines = (tmp_path / WORKFLOW).read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if "stop-commands" in line) - 1
    script = "\n".join(line.removeprefix(" " * 10) for line in lines[start:])
    checked = subprocess.run(
        ["bash", "-n"], input=script, text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
