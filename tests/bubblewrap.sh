#!/usr/bin/env bash
# Make sure that the tests find bubblewrap. Without an installed one, the script installs the system's package (as root).
# If that fails, the script says so, and still exits with code 0. Tests that need bubblewrap are then skipped, or fail if
# CI is set.
set -uo pipefail

command -v bwrap >/dev/null && exit 0
if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    printf 'bubblewrap.sh: installing bubblewrap\n' >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get --yes --quiet update && apt-get --yes --quiet install --no-install-recommends bubblewrap; } >/dev/null 2>&1
fi
command -v bwrap >/dev/null || printf 'bubblewrap.sh: bubblewrap is not installed; tests that need it cannot run\n' >&2
exit 0
