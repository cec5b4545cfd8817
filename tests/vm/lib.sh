# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of the VM share. A test is a file NNN-name that sets DESCRIPTION and defines
# `body`; it may define `requires`. It runs under `set -euo pipefail` on a machine without tiers,
# and starts with:
#
#	disks 64 512             two disks in RAM, FAST and BULK, of so many MiB
#	pair [OPTION...]         hintierctl format of the two (extent 64K unless told)
#	tier [OPTION...]         hintierctl create: $TIER is its node
#
# `refused` and `logged` state what must fail, and what the kernel may say then.

NAME=t0
TIER=/dev/mapper/$NAME
FAST=/dev/ht_fast
BULK=/dev/ht_bulk
MNT=/mnt

fail() {
	echo "$* (lines ${BASH_LINENO[*]} of ${FUNCNAME[*]:1})" >&2
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

equal() { [ "$1" = "$2" ] || fail "${3:-value} is '$1', not '$2'"; }
above() { [ "$1" -gt "$2" ] || fail "${3:-value} is $1, not above $2"; }

# The debug kernel finds more in longer runs, and is slower.
debug_kernel() { [[ $(uname -r) = *-debug ]]; }

# ---- the kernel's log -------------------------------------------------------------------------

log_mark() { echo "<6>hintier-test: $1" >/dev/kmsg; }
log_since() { dmesg -x | awk -v mark="hintier-test: $1" 'index($0, mark) { on = 1; next } on'; }

# expect PATTERN: lines that match are no fault of the kernel in this test.
expect() { printf '%s\n' "$1" >>/run/test.expected; }

# logged PATTERN COMMAND...: the command makes the kernel say exactly one line of ours, like this.
logged() {
	local pattern=$1 mark lines
	shift
	mark="mark $RANDOM$RANDOM"
	log_mark "$mark"
	"$@"
	# Device mapper itself says that a resume failed, after we have said why.
	lines=$(log_since "$mark" | grep -i 'hintier' | grep -v 'hintier: preresume failed' || true)
	expect "$pattern"
	expect 'hintier: preresume failed'
	grep -Eq -- "$pattern" <<<"$lines" || fail "'$*': the kernel said '$lines', not '$pattern'"
	equal "$(wc -l <<<"$lines")" 1 "number of lines that the kernel said ($lines)"
}

# refused PATTERN COMMAND...: the command fails, and says why in words that match.
refused() {
	local pattern=$1 said
	shift
	if said=$("$@" 2>&1); then fail "'$*' was not refused"; fi
	grep -Eq -- "$pattern" <<<"$said" || fail "'$*' said '$said', not '$pattern'"
	echo "refused: $said"
}

# ---- disks ------------------------------------------------------------------------------------

# disk NAME MIB [KEY=VALUE...]: a disk in RAM that discards; keys are null_blk's.
disk() {
	local dir=/sys/kernel/config/nullb/$1 setting
	modprobe null_blk nr_devices=0
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir "$dir"
	for setting in "size=$2" memory_backed=1 discard=1 submit_queues=2 irqmode=1 "${@:3}" power=1; do
		echo "${setting#*=}" >"$dir/${setting%%=*}"
	done
	udevadm settle
	[ -b "/dev/$1" ] || fail "null_blk made no /dev/$1"
}

disks() {
	disk ht_fast "$1" "${@:3}"
	disk ht_bulk "$2" "${@:3}"
}

# remember: what is on the disks; untouched: that it is there still.
remember() {
	dd if=$FAST of=/run/test/was.fast bs=1M iflag=direct status=none
	dd if=$BULK of=/run/test/was.bulk bs=1M iflag=direct status=none
}
untouched() {
	blockdev --flushbufs $FAST $BULK
	cmp /run/test/was.fast $FAST
	cmp /run/test/was.bulk $BULK
}

# ---- tiers ------------------------------------------------------------------------------------

# shellcheck disable=SC2120 # tests pass them
pair() {
	local extent=(--extent 64K)
	case " $* " in *' --extent '*) extent=() ;; esac
	hintierctl format "$FAST" "$BULK" "${extent[@]}" "$@"
}

tier() { hintierctl create "$NAME" "$FAST" "$BULK" "$@"; }
table() { hintierctl create "$NAME" "$FAST" "$BULK" --print-table "$@"; }

fresh_tier() {
	disks 64 512
	pair
	tier "$@"
}

# state PATH: one value of `hintierctl status`, e.g. state .slots.dirty
state() { hintierctl status "$NAME" --json | jq -e ".tiers[0] | $1"; }
counter() { state ".counters.$1"; }
# settled COUNTER: its value, once half a second has not changed it.
settled() {
	local was now
	now=$(counter "$1")
	for _ in {1..40}; do
		was=$now
		sleep 0.5
		now=$(counter "$1")
		[ "$was" != "$now" ] || { echo "$now"; return; }
	done
	fail "$1 does not come to rest: $was, $now"
}

moved() { state "[.io[] | select(.op == \"$1\" and .outcome == \"$2\") | .bytes] | add // 0"; }

# home_start: where the tier's first byte lies on bulk, in sectors.
home_start() { echo $(($(blockdev --getsz "$BULK") - $(blockdev --getsz "$TIER"))); }

# ---- I/O --------------------------------------------------------------------------------------

# verify NAME OPTION...: fio writes what it can check; with --verify_only it checks again later.
verify() {
	fio --output=/dev/null --name="$1" --filename="$TIER" --ioengine=libaio --direct=1 \
		--iodepth=16 --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--randrepeat=1 "${@:2}"
}

# unmount: the agent, or udev, may have one of its files open for a moment.
unmount() { eventually umount $MNT; }

drop_caches() { echo 3 >/proc/sys/vm/drop_caches; }

# tree DIR N: files of five sizes, N of each, no two with a block in common; and their sums.
tree() {
	local i kib noise=/run/test/noise
	[ -e $noise ] || head -c 16M /dev/urandom >$noise
	mkdir -p "$1"
	for ((i = 0; i < $2; i++)); do
		for kib in 1 3 60 200 760; do
			dd if=$noise of="$1/$i-$kib" bs=1M iflag=skip_bytes,count_bytes status=none \
				skip=$((i * 600011 + kib)) count=$((kib * 1024 - i))
		done
	done
}

tree_sums() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 md5sum); }

# ---- ends -------------------------------------------------------------------------------------

drop_disks() {
	local dir
	for dir in /sys/kernel/config/nullb/*/; do
		[ ! -d "$dir" ] || { echo 0 >"$dir/power"; rmdir "$dir"; }
	done
	[ ! -e /sys/module/ht_flash ] || rmmod ht_flash
}

# The regular end of a test: everything must come down without force.
teardown() {
	local node
	wait
	! mountpoint -q $MNT || unmount
	udevadm settle
	for node in $(dmsetup ls --target hintier | awk '/\(/ { print $1 }'); do dmsetup remove "$node"; done
	for node in $(dmsetup ls | awk '/\(/ { print $1 }'); do dmsetup remove "$node"; done
	drop_disks
}

# After a failure: whatever it takes.
sweep() {
	local node
	pkill -KILL fio || true
	sleep 1
	umount -l $MNT 2>/dev/null || true
	for node in $(dmsetup ls --target hintier | awk '/\(/ { print $1 }') $(dmsetup ls | awk '/\(/ { print $1 }'); do
		! dmsetup info "$node" >/dev/null 2>&1 || timeout 20 dmsetup remove -f --retry "$node" || true
	done
	drop_disks || true
	systemctl stop hintierd 2>/dev/null || true
	drop_in
}

clean_slate() { ! dmsetup ls | grep -q '(' && ! ls -d /sys/kernel/config/nullb/*/ >/dev/null 2>&1; }

# ---- the agent --------------------------------------------------------------------------------

# agent_config TEXT: the daemon's configuration for this test.
agent_config() { printf '%s\n' "$1" >/etc/hintier/hintierd.toml; }

# ask JSON: one request on the control socket, and its answer.
ask() { echo "$1" | socat -t 5 - UNIX-CONNECT:/run/hintier/hintierd.sock; }

# journal TEXT: the daemon has said so since its last start; waits for it a while.
journal() {
	local try
	for ((try = 0; try < 50; try++)); do
		journalctl -q -o cat -u hintierd --since "@$AGENT_SINCE" | grep -Eq -- "$1" && return
		sleep 0.2
	done
	fail "hintierd did not say '$1' but: $(journalctl -q -o cat -u hintierd --since "@$AGENT_SINCE")"
}

# drop_in [SETTING]: what an administrator adds to the unit; nothing takes it back.
# shellcheck disable=SC2120 # tests pass it
drop_in() {
	local dir=/run/systemd/system/hintierd.service.d
	rm -rf $dir
	[ $# = 0 ] || { mkdir -p $dir && printf '[Service]\n%s\n' "$1" >$dir/test.conf; }
	systemctl daemon-reload
}

agent() {
	AGENT_SINCE=$(date +%s)
	systemctl reset-failed hintierd 2>/dev/null || true
	systemctl "$1" hintierd
}

# eventually COMMAND...: it comes true within some seconds.
eventually() {
	local try
	for ((try = 0; try < 75; try++)); do
		if "$@"; then return; fi
		sleep 0.2
	done
	fail "not within 15 s: $*"
}
