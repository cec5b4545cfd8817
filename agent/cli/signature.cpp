// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/signature.hpp"

#include <algorithm>
#include <memory>

#include <blkid/blkid.h>
#include <fmt/format.h>

namespace hintier::cli {

namespace {

struct ProbeDeleter {
    void operator()(blkid_probe probe) const { blkid_free_probe(probe); }
};
using Probe = std::unique_ptr<std::remove_pointer_t<blkid_probe>, ProbeDeleter>;

Result<Probe> open_probe(const Disk& disk) {
    Probe probe(blkid_new_probe());
    if (!probe || blkid_probe_set_device(probe.get(), disk.fd.get(), 0, 0) != 0)
        return fail(EIO, "{}: cannot be probed for existing data", disk.path);
    blkid_probe_enable_superblocks(probe.get(), 1);
    blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL |
                                                       BLKID_SUBLKS_USAGE | BLKID_SUBLKS_MAGIC |
                                                       BLKID_SUBLKS_BADCSUM);
    blkid_probe_enable_partitions(probe.get(), 1);
    blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_MAGIC);
    return probe;
}

std::string value(blkid_probe probe, const char* name) {
    const char* data = nullptr;
    return blkid_probe_lookup_value(probe, name, &data, nullptr) == 0 && data ? data : "";
}

std::string describe(blkid_probe probe) {
    std::string table = value(probe, "PTTYPE");
    if (!table.empty()) return table + " partition table";
    std::string usage = value(probe, "USAGE");
    std::string label = value(probe, "LABEL");
    std::string text = value(probe, "TYPE");
    text += usage == "filesystem" ? " file system" : fmt::format(" ({})", usage);
    if (!label.empty()) text += fmt::format(" '{}'", label);
    return text;
}

} // namespace

Result<std::vector<std::string>> foreign_signatures(const Disk& disk) {
    auto probe = open_probe(disk);
    if (!probe) return Failure(probe.error());
    std::vector<std::string> found;
    int more = 0;
    while ((more = blkid_do_probe(probe->get())) == 0) {
        std::string text = describe(probe->get());
        if (std::find(found.begin(), found.end(), text) == found.end())
            found.push_back(std::move(text));
    }
    if (more < 0) return fail(EIO, "{}: cannot be read while probing for existing data", disk.path);
    return found;
}

Result<void> erase_signatures(const Disk& disk) {
    auto probe = open_probe(disk);
    if (!probe) return Failure(probe.error());
    int more = 0;
    while ((more = blkid_do_probe(probe->get())) == 0)
        if (blkid_do_wipe(probe->get(), 0) != 0)
            return fail(EIO, "{}: cannot erase the {}", disk.path, describe(probe->get()));
    if (more < 0) return fail(EIO, "{}: cannot be read while erasing old signatures", disk.path);
    return {};
}

} // namespace hintier::cli
