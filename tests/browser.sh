#!/usr/bin/env bash
# See to it that the tests find a browser: `browser.sh PYTHON`, the Python of an environment with ColBench in it.
# One that is there is used; else Playwright's own is downloaded; else, as root, the system's package is installed.
# Where nothing helps, it says so and succeeds: the tests that need a browser then skip, and fail where CI is set.
set -uo pipefail

python=${1:?usage: browser.sh PYTHON}
found() { "$python" -c 'from colbench.sandbox.browser import find_browser; find_browser()' 2>/dev/null; }
say() { printf 'browser.sh: %s\n' "$1" >&2; }

found && exit 0
say "downloading Playwright's browser"
with_deps=$([[ $(id -u) -eq 0 ]] && echo --with-deps)
timeout 600 "$python" -m playwright install $with_deps chromium-headless-shell >/dev/null 2>&1 </dev/null
found && exit 0
if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    say "the download failed; installing the system's package"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update --quiet >/dev/null 2>&1
    apt-get install --yes --quiet --no-install-recommends chromium-headless-shell >/dev/null 2>&1 ||
        apt-get install --yes --quiet --no-install-recommends chromium >/dev/null 2>&1
fi
found || say "no browser; tests that need one cannot run"
exit 0
