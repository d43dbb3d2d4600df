#!/bin/sh
# Types, lint and unit tests of the dashboard in web/, where there is Node 20 or newer; else say that they were left out.
set -eu
cd "$(dirname "$0")/../web"

found=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/' || true)
if [ "${found:-0}" -lt 20 ]; then
    echo "web/: types, lint and unit tests were not checked: Node 20 or newer is missing (found: ${found:-none})" >&2
    exit 0
fi
if [ ! -e node_modules/.ready ] || [ package-lock.json -nt node_modules/.ready ]; then
    # not npm ci: it refuses a lock file without the programs that biome and vite have for other systems
    npm install --no-save --silent --no-audit --no-fund
    touch node_modules/.ready
fi
npx --no-install tsc --noEmit
npx --no-install biome check --log-level=warn .
[ "${1:-}" = quick ] || npx --no-install vitest run --silent --reporter=dot
