#!/usr/bin/env bash
# Build the example board: `board.sh OUT` verifies every bundle in bundles/, accepts it into the store OUT/store, and
# builds the site OUT/site. The same bundles and the same ColBench give the same files, byte for byte.
# If the script is run again, for example after an interruption, it adds only the bundles that the store lacks.
set -euo pipefail

out=${1:?usage: board.sh OUT}
here=$(cd "$(dirname "$0")" && pwd)
store=$out/store
export SOURCE_DATE_EPOCH=1795478400  # the time in the store's log

if [[ ! -e $store/log.jsonl ]]; then
    colbench leaderboard init "$store"
fi
for bundle in "$here"/bundles/*.tar.gz; do
    digest=$(tar -xzOf "$bundle" MANIFEST.sha256 | sha256sum | cut -d ' ' -f 1)
    if ! grep -q "$digest" "$store/log.jsonl"; then
        [[ $bundle == */blank-bundled.tar.gz ]] && line=--reference-line || line=
        colbench leaderboard accept "$store" "$bundle" $line
    fi
done
colbench leaderboard build "$store" --out "$out/site"
