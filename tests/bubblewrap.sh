#!/usr/bin/env bash
# See to it that the tests find bubblewrap: one that is there is used; else, as root, the system's package is installed.
# Where that does not help, it says so and succeeds: the tests that need it then skip, and fail where CI is set.
set -uo pipefail

command -v bwrap >/dev/null && exit 0
if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    printf 'bubblewrap.sh: installing bubblewrap\n' >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get --yes --quiet update && apt-get --yes --quiet install --no-install-recommends bubblewrap; } >/dev/null 2>&1
fi
command -v bwrap >/dev/null || printf 'bubblewrap.sh: there is no bubblewrap; tests that need it cannot run\n' >&2
exit 0
