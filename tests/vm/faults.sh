# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of failing devices share: a tier over drives of the flash model that lies still
# unless told, data that is known by its place, and the drives' faults.

. ./crash.sh

NOISE=/run/test/noise

# fault_tier [OPTION...]: nothing moves by itself.
fault_tier() {
	[ -e $NOISE ] || head -c 16M /dev/urandom >$NOISE
	flash 16 128 "$VOLATILE"
	pair
	TABLE=$(table --opt spread=0 --opt promote=0 --opt commit_ms=60000 --opt stage_mib=0 "$@")
	create_plain
	expect 'Buffer I/O error on dev dm-' # whoever looks at new devices
	EVENTS=$(events)
	SLOTS=$(($(od -A n -t u8 -j 88 -N 8 $FAST))) # sector of slot 0
}

# fault DRIVE OPS [KEY=VALUE...]: see qemu/flash/faults.h. Whoever looks at a device that was
# written has looked before: a fault is met by the test, not by udev.
fault() {
	udevadm settle
	echo "fail $*" >$POWER
	count fault
}
heal() { echo heal >$POWER; }
EVERYWHERE=$((1 << 30)) # sectors

# put UNIT COUNT VERSION: writes units of 4 KiB; same UNIT COUNT VERSION: they are there.
noise() { dd if=$NOISE bs=4k skip=$(($1 % 512 + $3 * 512)) count="$2" status=none; }
put() {
	noise "$@" | dd of=$TIER bs=4k seek="$1" count="$2" iflag=fullblock oflag=direct conv=notrunc \
		status=none
}
same() { dd if=$TIER bs=4k skip="$1" count="$2" iflag=direct status=none | cmp - <(noise "$@"); }

flushed() { sync -d $TIER; }

# told_once: fast was given up. The flushes that waited then say that something may have gone with
# it, and one more; after these all is well.
told_once() {
	local try
	for try in 1 2 3; do
		! flushed 2>/dev/null || return 0
	done
	fail "flushes go on failing"
}

# lost FROM TO: which units in the range cannot be read, in one line.
lost() {
	local unit
	for ((unit = $1; unit < $2; unit++)); do
		dd if=$TIER of=/dev/null bs=4k skip=$unit count=1 iflag=direct status=none 2>/dev/null ||
			echo -n "$unit "
	done
}

mode() { dmsetup status $NAME | cut -d ' ' -f 4; }
events() { dmsetup info -c --noheadings -o events $NAME; }

# degrades MODE PATTERN COMMAND...: the command brings the tier to the mode: one line, one event.
degrades() {
	local before
	before=$(events)
	logged "$2" until_told "${@:3}"
	is_mode "$1" || fail "mode is $(mode)"
	equal "$(events)" $((before + 1)) "number of events"
}
until_told() { # the event comes after the line
	"$@"
	eventually told
}
told() { [ "$(events)" != "$before" ]; } # of degrades
is_mode() { [ "$(mode)" = "$1" ]; }
fails() { refused 'Input/output error' "$@"; }

# The tier still stands, and has said nothing to anybody.
calm() {
	equal "$(mode)" writeback mode
	equal "$(events)" "$EVENTS" events
}
