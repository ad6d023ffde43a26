#!/bin/sh
# Prints the path of a Python that has moto's server, for the conformance suite; installs it when it is missing.
# The virtual environment lies under $HOLDFAST_TOOLS, by default .tools in the repository. Safe to run several times at once: the folder
# .lock is held by one, and its marker tells the others that the installation is whole.
set -eu

version=5.2.5
here=$(cd "$(dirname "$0")" && pwd)
tools=${HOLDFAST_TOOLS:-$(cd "$here/../../.." && pwd)/.tools}
venv=$tools/moto-$version
ready=$venv/.ready
lock=$venv.lock

mkdir -p "$tools"
while [ ! -e "$ready" ]; do
	if mkdir "$lock" 2>/dev/null; then
		echo $$ >"$lock/pid"
		trap 'rm -rf "$lock"' EXIT
		trap 'exit 1' INT TERM
		if [ ! -e "$ready" ]; then
			rm -rf "$venv"
			python3 -m venv "$venv" >&2 || {
				echo "moto needs python3 with venv (Debian: apt-get install python3-venv)" >&2
				exit 1
			}
			"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "moto[server]==$version" >&2
			touch "$ready"
		fi
		break
	fi
	# A holder that was killed cannot take its lock away.
	holder=$(cat "$lock/pid" 2>/dev/null || true)
	if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
		rm -rf "$lock"
	fi
	sleep 1
done
echo "$venv/bin/python"
