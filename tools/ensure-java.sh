#!/bin/sh
# The Spark engine needs Java 17 or newer. Find it; on Debian as root install it; else say how.
set -eu

java_version() {
    "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

found=$(java_version || true)
if [ "${found:-0}" -ge 17 ]; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Java 17 or newer is missing (found: ${found:-none}): installing openjdk-17-jre-headless"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y openjdk-17-jre-headless >/dev/null
    exit 0
fi
echo "Headgate needs Java 17 or newer (found: ${found:-none}). Install it with:" >&2
if command -v apt-get >/dev/null; then
    echo "    sudo apt-get install -y openjdk-17-jre-headless" >&2
elif command -v brew >/dev/null; then
    echo "    brew install openjdk@17" >&2
else
    echo "    your system's package of OpenJDK 17, then set JAVA_HOME" >&2
fi
exit 2
