#!/bin/sh
# The dashboard's tests need a browser. Find Chromium; on Debian as root install it; else say how, and go on without.
set -eu

if command -v chromium >/dev/null || [ -n "${HEADGATE_CHROMIUM:-}" ]; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Chromium is missing: installing Debian's package for the dashboard's tests"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null
    exit 0
fi
echo "Chromium is missing, so the dashboard's tests in tests/web are skipped. Install it with your system's package" >&2
echo "manager (Debian: sudo apt-get install chromium), or set HEADGATE_CHROMIUM to its path." >&2
