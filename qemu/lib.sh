# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the scripts of this room share. Source it after `set -euo pipefail`.

CACHE=${HINTIER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hintier}
export PATH=$PATH:/usr/sbin:/sbin # mkfs, depmod and friends, for any user

die() {
	echo "${0##*/}: $*" >&2
	exit 2
}

say() { printf '  %-7s %s\n' "$1" "$2" >&2; }

need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || die "$tool is not installed; run 'make deps'"
	done
}

# with_lock NAME COMMAND...: one builder at a time for each thing in the cache.
with_lock() {
	local lock=$CACHE/$1.lock
	shift
	mkdir -p "${lock%/*}"
	(
		flock 9
		"$@"
	) 9>"$lock"
}

# Package lists are refreshed only after something was not found with the lists that are there.
apt_update() {
	local root=()
	[ "$(id -u)" = 0 ] || root=(sudo -n)
	say APT "update"
	"${root[@]}" apt-get -qq update ||
		die "package lists are stale; run 'apt-get update' as root and try again"
}

# download DIR PACKAGE...
download() {
	# A package may have been replaced since the lists were read.
	(cd "$1" && apt-get -qq download "${@:2}") 2>/dev/null && return
	apt_update
	(cd "$1" && apt-get -qq download "${@:2}")
}

# The uncompressed path of a kernel module's file, whichever compression the package chose.
module_name() {
	local name=${1##*/}
	echo "${name%%.ko*}"
}
