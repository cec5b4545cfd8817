# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of power cuts and failing devices share. Sourced by them.
#
# The devices are the lab's flash model, which loses what was not flushed when its power goes.
# Each test cuts a few times; `make crash` runs the same tests with more (CRASH_SCALE in the file
# `scale` beside the tests), and counts what /out/crash.counts says.

POWER=/sys/kernel/debug/ht_flash/control
SCALE=$(cat /in/tests/scale 2>/dev/null || echo 1)

# What a drive has beside its power: a volatile cache, or none. Quick, since a cut is not about time.
VOLATILE=plp=0,vwc=1
DURABLE=plp=1,vwc=0
QUICK=read_ns=2000,program_ns=20000,erase_ns=0,read_cmd_ns=2000,write_cmd_ns=2000

count() { echo "$1" >>/out/crash.counts; } # cut or fault

# flash FAST-MIB BULK-MIB KEYS: two drives of the model, FAST and BULK.
flash() {
	[ ! -e /sys/module/ht_flash ] || rmmod ht_flash
	/sbin/insmod /in/modules/ht_flash.ko slc=bytes="$1M,cut=1,$QUICK,$3" qlc=bytes="$2M,cut=1,$QUICK,$3"
	FAST=/dev/ht_slc
	BULK=/dev/ht_qlc
	udevadm settle
}

# create_plain: a table load and nothing else; no udev, which would read and take its time.
create_plain() {
	dmsetup create --noudevrules --noudevsync $NAME --table "$TABLE"
	TIER=/dev/dm-$(dmsetup info -c --noheadings -o minor $NAME)
}

# flash_tier FAST-MIB BULK-MIB KEYS [OPTION...]: and a tier over them, small and busy.
flash_tier() {
	flash "$1" "$2" "$3"
	pair
	TABLE=$(table --opt high=50 --opt low=30 --opt spread=20 --opt promote=1 --opt commit_ms=40 "${@:4}")
	create_plain
	# What the module says when both devices fail under it.
	expect 'now in mode (bypass|fail)'
	expect 'cannot write state of the pair'
	expect 'Buffer I/O error on dev'
}

flash_gone() {
	dmsetup remove --retry $NAME
	rmmod ht_flash
}

# The power is off. The tier goes, and touches nothing; the power returns; the tier comes back.
power_cycle() {
	dmsetup remove --noudevrules --noudevsync --retry $NAME
	echo restore >$POWER
	create_plain
	equal "$(dmsetup status $NAME | cut -d ' ' -f 4)" "${1:-writeback}" "mode after a cut"
	count cut
}

# Everything that may leave fast leaves it.
evict_all() {
	dmsetup message $NAME 0 flush
	dmsetup message $NAME 0 drop_clean
}

# Milliseconds until the next cut: from the middle of the first writes to some destages later.
soon() { echo $((20 + RANDOM % 300)); }

# The seed is the round's number: a failure says which. A test starts from new devices.
rounds() { echo $((SCALE * $1)); }
# Cuts under raw writes are the strictest and the quickest, those under fio take longest: `make crash`
# has four times as many of the former, and half as many of the latter.
raw_rounds() { rounds $(($1 * (SCALE > 1 ? 4 : 1))); }
fio_rounds() { echo $(($1 * (SCALE + 1) / 2)); }

# ---- rounds ----------------------------------------------------------------------------------

# For the report: where the first wrong sector's versions lie, on each device.
check_blocks() {
	local sector
	crash_blocks check $TIER /run/test/blocks >/run/test/said && return
	cat /run/test/said
	sector=$(sed -n 's/^violation: .* sector \([0-9]*\) is.*/\1/p' /run/test/said | head -n 1)
	echo "tier sector $sector: home $(($(home_start) + sector)), first slot $(($(od -A n -t u8 -j 88 -N 8 $FAST)))"
	for device in $FAST $BULK $TIER; do
		echo "$device:"
		crash_blocks find $device "$sector"
	done
	return 1
}

# cut_blocks N KEYS [OPTION...]: N cuts under raw writes. See crash_blocks.cpp.
cut_blocks() {
	local seed mode=writeback
	case " $* " in *' --mode '*) mode=$(sed 's/.*--mode \([a-z]*\).*/\1/' <<<"$*") ;; esac
	flash_tier 6 48 "$2" "${@:3}"
	rm -f /run/test/blocks
	for ((seed = 1; seed <= $(raw_rounds "$1"); seed++)); do
		crash_blocks run $TIER /run/test/blocks $seed "$(soon)" || fail "round $seed"
		power_cycle "$mode"
		check_blocks || fail "after cut $seed"
		# C3: what was read stays, whatever leaves fast and whenever power goes again.
		case $((seed % 4)) in
		1) evict_all ;;
		2) dmsetup message $NAME 0 drop_clean ;;
		3)
			echo "cut $seed" >$POWER
			power_cycle "$mode"
			;;
		0) continue ;;
		esac
		check_blocks || fail "read again after cut $seed"
	done
	jq -c '{device, cuts, cut_lost_sectors, cut_kept_sectors}' /sys/kernel/debug/ht_flash/{slc,qlc}
	flash_gone
}

# On a filesystem: what it says when its device goes is not our fault, and it must not say more
# than that when the device is back.
expect_shutdown() {
	expect 'EXT4-fs (error|warning)|EXT4-fs \(dm-[0-9]*\): (shut|I/O error|failed|Remounting|previous I/O)'
	expect 'Aborting journal|JBD2: |XFS .*(log I/O error|[Ss]hut|metadata I/O error|writeback error|I/O [Ee]rror)'
	expect 'Buffer I/O error|lost async page write|lost sync page write'
}

# The filesystem learns that its device has gone, and is unmounted.
pull_down() {
	xfs_io -x -c shutdown $MNT 2>/dev/null || true
	unmount
}

fsck_now() {
	unmount
	if [ "$1" = ext4 ]; then e2fsck -fn $TIER; else xfs_repair -n $TIER; fi
	mount -o discard $TIER $MNT
}

# cut_fs FS N KEYS RUN CHECK: N cuts under a program that works in $MNT.
cut_fs() {
	local fs=$1 seed
	expect_shutdown
	flash_tier 16 400 "$3"
	mkfs."$fs" -q $TIER
	mount -o discard $TIER $MNT
	rm -f /run/test/state
	for ((seed = 1; seed <= $(rounds "$2"); seed++)); do
		$4 $seed || fail "round $seed"
		pull_down
		power_cycle
		mount -o discard $TIER $MNT
		$5 || fail "after cut $seed"
		[ $((seed % 4)) != 0 ] || fsck_now "$fs"
	done
	unmount
	flash_gone
}
