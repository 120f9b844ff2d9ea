#!/usr/bin/env bash
# Make sure that the tests find a browser: `browser.sh PYTHON`, where PYTHON belongs to an environment with ColBench.
# The script uses an installed headless shell. Without one, it downloads Playwright's own. If that fails, it installs
# the system's package (as root only). The last choice is a full Chromium, which takes seven times as much CPU.
# If every attempt fails, the script prints the end of their output, and still exits with code 0. Tests that need a
# browser are then skipped, or fail if CI is set.
set -uo pipefail

python=${1:?usage: browser.sh PYTHON}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
found() { "$python" -c 'from colbench.sandbox.browser import find_browser; find_browser()' 2>/dev/null; }
fast() { "$python" -c 'from colbench.sandbox.browser import find_browser, slowness; exit(bool(slowness(find_browser())))' 2>/dev/null; }
say() { printf 'browser.sh: %s\n' "$1" >&2; }
try() {
    printf '$ %s\n' "$*" >>"$log"
    timeout 600 "$@" >>"$log" 2>&1 </dev/null
}
playwright() { try "$python" -m playwright install "$@" chromium-headless-shell; }
apt() { try apt-get --yes --quiet "$@"; }

fast && exit 0
say "downloading Playwright's headless shell"
if [[ $(id -u) -eq 0 ]]; then playwright --with-deps || playwright; else playwright; fi
fast && exit 0
if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    say "the download failed; installing the system's package"
    export DEBIAN_FRONTEND=noninteractive
    apt update
    apt install --no-install-recommends chromium-headless-shell || apt install --no-install-recommends chromium
fi
found && exit 0
say "no browser; tests that need one cannot run. The attempts said last:"
tail -n 40 "$log" >&2
exit 0
