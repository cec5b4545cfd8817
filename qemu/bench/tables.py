# SPDX-License-Identifier: Apache-2.0
"""The sections of `make bench`: their rows, their tables, and what of them is promised."""
import typing

DILATION = 4


class Goal(typing.NamedTuple):
    what: str
    value: float
    limit: float
    most: bool = False  # at most the limit, not at least

    @property
    def met(self):
        return self.value <= self.limit if self.most else self.value >= self.limit


def gbps(virtual):
    """Bytes a second of a real drive, whose times are DILATION times shorter."""
    return f"{virtual * DILATION / 1e9:.2f}"


def show(title, columns, rows):
    """A table: the first column is the rows' names."""
    print(f"\n{title}")
    widths = [max(len(column), 9) for column in columns]
    print("  " + " " * 18 + "".join(f"  {column:>{width}}" for column, width in zip(columns, widths)))
    for name, cells in rows:
        print(f"  {name:<18}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths)))


# ---- readers --------------------------------------------------------------------------------

def qd1(rows):
    deep = rows["raw-deep"]
    sizes = ("read_128k", "read_1024k")
    show("qd1: a reader that waits for each request, 1 GiB on bulk; GB/s, and percent of bulk at depth 32",
         ["128 KiB", "", "1 MiB", ""],
         [(name, [cell for key in sizes
                  for cell in (gbps(row[key]), f"{row[key] / deep[key] * 100:.0f} %")])
          for name, row in rows.items()])
    for name, limit in (("hintier-told", 0.85), ("hintier-found", 0.70)):
        for key in sizes:
            yield Goal(f"{name}, {key[5:]}: share of bulk at depth", rows[name][key] / deep[key], limit)


def both(rows):
    rate = {name: row["read_1024k"] for name, row in rows.items()}
    total = rate["bulk-deep"] + rate["fast-deep"]
    show("both: 1 GiB, every other extent on fast, 1 MiB requests; GB/s, and percent of the sum of both drives",
         ["GB/s", ""],
         [(name, [gbps(value), f"{value / total * 100:.0f} %"]) for name, value in rate.items()])
    yield Goal("hintier-deep: share of the sum of both drives", rate["hintier-deep"] / total, 0.90)
    yield Goal("hintier-told: share of the lesser of that and one core's copy rate",
               rate["hintier-told"] / min(total, rate["copy"]), 0.90)


# ---- the hit path ---------------------------------------------------------------------------

ENGINES = [f"{engine}-{rw}" for engine in ("libaio", "io_uring") for rw in ("read", "write")]


def hitpath(rows):
    def above(name, key):
        return rows[name][key + "_ns"] - rows["raw"][key + "_ns"]

    show("hitpath: instructions for 4 KiB, a hit, one in flight: the raw device's, and above them",
         ENGINES, [(name, [f"{row[key + '_ns']:.0f}" if name == "raw" else f"{above(name, key):+.0f}"
                           for key in ENGINES]) for name, row in rows.items()])
    for key in ENGINES:
        yield Goal(f"hintier above dm-linear, {key}",
                   above("hintier", key) - above("dm-linear", key), 400, most=True)
    for key in ENGINES:
        yield Goal(f"hintier with the agent above hintier, {key}",
                   above("hintier-agent", key) - above("hintier", key), 1500, most=True)


# ---- reads while data goes home ---------------------------------------------------------------

def us(ns):
    return f"{ns / DILATION / 1e3:.0f}"


def beside_writes(title, rows):
    show(title, ["4 KiB p50", "p99", "p99.9", "128K p50", "p99", "p99.9", "writes", "begin", "middle", "end"],
         [(name, [us(row[f"{size}_{key}"]) for size in ("small", "large") for key in ("p50", "p99", "p999")] +
           ([f"{row['writer_bps'] * DILATION / 1e6:.0f}", *(f"{row[key]:.1f}" for key in ("begin", "middle", "end"))]
            if "writer_bps" in row else [])) for name, row in rows.items()])


def mixed(rows):
    beside_writes("mixed: reads from bulk in bursts of 200 ms, then 300 ms of none, while a fifth of what bulk can program "
                  "is written:\n  us for 4 KiB, one in flight, and for 128 KiB, four; MB/s written; percent of fast that has "
                  "to go home", rows)
    for size, name in (("small", "4 KiB"), ("large", "128 KiB")):
        yield Goal(f"hintier, {name}: p99 by that without writes",
                   rows["hintier"][f"{size}_p99"] / rows["hintier-idle"][f"{size}_p99"], 1.3, most=True)
    # No more than the marks between which destaging starts and stops are apart.
    yield Goal("hintier: dirty at the end above that in the middle, percent of slots",
               rows["hintier"]["end"] - rows["hintier"]["middle"], 2, most=True)


def steady(rows):
    beside_writes("steady: the same reads without a pause, by what window_busy allows", rows)
    for name, row in rows.items():
        if "end" in row:
            yield Goal(f"{name}: dirty, percent of slots: all but those kept for writes",
                       max(row[key] for key in ("begin", "middle", "end")), 98, most=True)


# ---- what small readers come back to --------------------------------------------------------

PERIODS = range(8)


# smq looks at its queues once a minute whatever the dilation: a quarter of one here.
def react(rows):
    share = {name: sum(row[f"share{n}"] for n in PERIODS) / len(PERIODS) for name, row in rows.items()}
    show("react: 64 MiB of small reads that move every 2 s, a quarter of fast: percent served by fast, "
         "in each period",
         ["all", *(str(n + 1) for n in PERIODS), "us each"],
         [(name, [f"{share[name] * 100:.1f}", *(f"{row[f'share{n}'] * 100:.1f}" for n in PERIODS),
                  us(sum(row[f"period{n}_ns"] for n in PERIODS) / len(PERIODS))]) for name, row in rows.items()])
    yield Goal("hintier above dm-cache: share served by fast", share["hintier"] - share["dm-cache"], 0)


# ---- wear -----------------------------------------------------------------------------------

def wear(rows):
    show("wear: KV objects of which three of four die young; MB, and bulk's programs by what lives",
         ["live", "fast", "bulk", "by live", "RMWs", "RMW MB"],
         [(name, [f"{row['live'] / 1e6:.0f}", f"{row['slc_programmed_bytes'] / 1e6:.0f}",
                  f"{row['qlc_programmed_bytes'] / 1e6:.0f}", f"{row['qlc_programmed_bytes'] / row['live']:.3f}",
                  f"{row['qlc_rmw_units']:.0f}", f"{row['qlc_rmw_bytes'] / 1e6:.0f}"]) for name, row in rows.items()])
    for name in ("hintier", "hintier-done"):
        yield Goal(f"{name}: bulk's programs by what lives", rows[name]["qlc_programmed_bytes"] / rows[name]["live"],
                   1.05, most=True)
    yield Goal("hintier-odd: read-modify-writes by the drive", rows["hintier-odd"]["qlc_rmw_units"], 0, most=True)


# ---- bookkeeping ----------------------------------------------------------------------------

def hints(rows):
    row = rows["hintier"]
    show("hints: CLASSIFY, a thousand ranges a call: instructions each, and millions a second and core",
         ["each", "M/s"], [("a range of one extent", [f"{row['extent_ns']:.0f}", f"{rate(row['extent_ns']):.2f}"]),
                           ("a range of 64", [f"{row['longer_ns']:.0f}", f"{rate(row['longer_ns']):.2f}"])])
    yield Goal("ranges of an extent, millions a second", rate(row["extent_ns"]), 1.0)
    yield Goal("extents of longer ranges, millions a second", rate(row["longer_ns"]) * 64, 10.0)


def memory(rows):
    each = {name: (row["tables"] - row["apart"]) / row["slots"] for name, row in rows.items()}
    # Of 1 TiB: all of it goes by slots.
    seconds = {name: row["activation_s"] / DILATION * 2**22 / row["slots"] for name, row in rows.items()}
    show("memory: bytes for each slot of 256 KiB; those of what is bounded apart (lost map, fetches, blank homes); all that\n"
         "  vmalloc and slabs grew by; and device seconds to bring 1 TiB of slots back after a clean stop, at the pace of these",
         ["slots", "in use", "bytes", "apart", "all", "seconds"],
         [(name, [f"{row['slots']:.0f}", f"{row['used']:.0f}", f"{each[name]:.1f}", f"{row['apart'] / row['slots']:.1f}",
                  f"{row['growth'] / row['slots']:.1f}", f"{seconds[name]:.2f}"]) for name, row in rows.items()])
    yield Goal("hintier-1T: bytes for each slot", each["hintier-1T"], 80, most=True)
    for name in rows:
        yield Goal(f"{name}: seconds to bring 1 TiB back", seconds[name], 2, most=True)


def rate(ns):
    return DILATION * 1000 / ns


SECTIONS = {
    "qd1": (qd1, ["raw", "raw-deep", "raw-buffered", "raw-setra", "dm-linear-bulk", "dm-cache", "dm-cache-setra",
                  "dm-writecache", "hintier-plain", "hintier-buffered", "hintier-found", "hintier-told"]),
    "both": (both, ["fast-deep", "bulk-deep", "copy", "hintier-deep", "hintier-found", "hintier-told"]),
    "hitpath": (hitpath, ["raw", "dm-linear", "dm-cache", "dm-writecache", "bcache", "hintier",
                          "hintier-agent"]),
    "mixed": (mixed, ["hintier-idle", "hintier", "dm-writecache", "dm-cache", "bcache"]),
    "steady": (steady, ["hintier-idle", "hintier-w0", "hintier-w1", "hintier-w2", "hintier-w8"]),
    "react": (react, ["hintier", "dm-cache"]),
    "wear": (wear, ["raw", "dm-writecache", "hintier", "hintier-done", "raw-odd", "hintier-odd"]),
    "hints": (hints, ["hintier"]),
    "memory": (memory, ["hintier-1T", "hintier-128G"]),
}
