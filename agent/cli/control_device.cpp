// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/control_device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>

namespace hintier::cli {

namespace {

Result<Fd> open_control() {
    Fd fd(open(HINTIER_CONTROL_PATH, O_RDWR | O_CLOEXEC));
    if (fd) return fd;
    if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
        return fail(ENOENT, "{} is missing: the module is not loaded: modprobe hintier",
                    HINTIER_CONTROL_PATH);
    if (errno == EACCES || errno == EPERM)
        return fail(errno, "{}: permission denied: run as root or join its group",
                    HINTIER_CONTROL_PATH);
    return fail(errno, "{}: {}", HINTIER_CONTROL_PATH, std::strerror(errno));
}

Result<hintier_version> ask_version(const Fd& fd) {
    hintier_version version{};
    if (ioctl(fd.get(), HINTIER_IOC_VERSION, &version) != 0)
        return fail(errno, "{}: cannot ask its version: {}", HINTIER_CONTROL_PATH,
                    std::strerror(errno));
    return version;
}

Failure bind_failed(const std::string& node, int code) {
    if (code == ENXIO)
        return fail(code, "{} is not a hintier tier: `hintierctl list` shows the tiers", node);
    if (code == ENOTBLK) return fail(code, "{} is not a block device", node);
    return fail(code, "{}: cannot bind to the tier: {}", node, std::strerror(code));
}

std::string errno_text(int code) {
    switch (code) {
    case ENODEV:
        return "the tier has been removed";
    case EPERM:
        return "needs the tier opened for writing: run as root";
    case ERANGE:
        return "the range ends beyond the tier";
    case E2BIG:
        return "too many hints in one batch";
    case ENOSPC:
        return "the kernel's table is full: try again later";
    case EOPNOTSUPP:
        return "this kernel side does not know the verb: update the module";
    default:
        return std::strerror(code);
    }
}

} // namespace

std::string reason_text(std::uint32_t reason) {
    switch (reason) {
    case HINTIER_REASON_NONE:
        return {};
    case HINTIER_REASON_VERB:
        return "unknown verb";
    case HINTIER_REASON_UNSUPPORTED:
        return "the verb is not built into this kernel side: update the module";
    case HINTIER_REASON_FLAGS:
        return "a flag that the verb does not take";
    case HINTIER_REASON_RESERVED:
        return "a reserved member is not zero: hintierctl and the module do not match";
    case HINTIER_REASON_CLASS:
        return "unknown class";
    case HINTIER_REASON_GROUP:
        return "no such group: groups are 0 to 255";
    case HINTIER_REASON_ALIGN:
        return "offset and length must be multiples of 4096";
    case HINTIER_REASON_RANGE:
        return "the range is empty or ends beyond the tier";
    case HINTIER_REASON_ACCESS:
        return "needs the tier opened for writing: run as root";
    case HINTIER_REASON_FULL:
        return "a table or quota of the kernel side is full: try again later";
    case HINTIER_REASON_FAULT:
        return "the batch could not be read";
    case HINTIER_REASON_EPOCH:
        return "the write epoch is not one of this tier";
    case HINTIER_REASON_BUDGET:
        return "the fast device's budget of bytes a day is spent: see `hintierctl status`, or "
               "fetch "
               "to RAM with --stage";
    case HINTIER_REASON_STATE:
        return "the tier is suspended, failed or gone: see `hintierctl status`";
    default:
        return "refused for a reason this hintierctl does not know: update it";
    }
}

Result<hintier_version> control_version() {
    auto fd = open_control();
    if (!fd) return Failure(fd.error());
    return ask_version(*fd);
}

Result<ControlDevice> ControlDevice::bind(const std::string& node, Access access) {
    ControlDevice control;
    auto fd = open_control();
    if (!fd) return Failure(fd.error());
    control.fd_ = std::move(*fd);
    auto version = ask_version(control.fd_);
    if (!version) return Failure(version.error());
    if (version->major != HINTIER_ABI_MAJOR)
        return fail(EPROTO, "the module speaks ABI {}, hintierctl {}: install both from one build",
                    version->major, HINTIER_ABI_MAJOR);
    control.version_ = *version;

    Fd shown(open(node.c_str(), (access == Access::owner ? O_RDWR : O_RDONLY) | O_CLOEXEC));
    if (!shown) return fail(errno, "{}: {}", node, std::strerror(errno));
    control.bind_.fd = shown.get();
    if (ioctl(control.fd_.get(), HINTIER_IOC_BIND, &control.bind_) != 0)
        return bind_failed(node, errno);
    return control;
}

Result<std::uint64_t> ControlDevice::epoch() {
    hintier_epoch epoch{};
    if (ioctl(fd_.get(), HINTIER_IOC_EPOCH, &epoch) != 0)
        return fail(errno, "cannot start a write epoch: {}", errno_text(errno));
    return epoch.epoch;
}

Result<void> ControlDevice::hint(std::span<const hintier_hint> hints) {
    for (std::size_t at = 0; at < hints.size();) {
        auto part = hints.subspan(at, std::min<std::size_t>(hints.size() - at, HINTIER_BATCH_MAX));
        hintier_batch batch{};
        batch.hints = reinterpret_cast<std::uintptr_t>(part.data());
        batch.count = static_cast<std::uint32_t>(part.size());
        if (ioctl(fd_.get(), HINTIER_IOC_HINT, &batch) != 0) {
            int code = errno;
            std::string why = reason_text(batch.reason);
            std::size_t bad = std::min(at + batch.done, hints.size() - 1);
            return fail(code, "hint {} of {} (range {}:{}) was refused: {}", bad + 1, hints.size(),
                        hints[bad].offset, hints[bad].length, why.empty() ? errno_text(code) : why);
        }
        at += part.size();
    }
    return {};
}

Result<void> ControlDevice::values(hintier_values head, std::span<const hintier_value_row> rows) {
    head.rows = reinterpret_cast<std::uintptr_t>(rows.data());
    head.groups = static_cast<__u32>(rows.size());
    if (ioctl(fd_.get(), HINTIER_IOC_VALUES, &head) == 0) return {};
    if (errno == EINVAL)
        return fail(EINVAL, "the table was refused: edges must begin with 0 and ascend");
    return fail(errno, "the table was refused: {}", errno_text(errno));
}

Result<bool> ControlDevice::wait(std::uint64_t cookie, std::uint32_t timeout_ms) {
    hintier_wait wait{};
    wait.cookie = cookie;
    wait.timeout_ms = timeout_ms;
    if (ioctl(fd_.get(), HINTIER_IOC_WAIT, &wait) == 0) return true;
    if (errno == ETIMEDOUT || errno == EAGAIN) return false;
    return fail(errno, "cannot wait for what is fetched: {}", errno_text(errno));
}

Result<void> ControlDevice::query(std::uint64_t offset, std::uint64_t length,
                                  const std::function<void(const hintier_residency&)>& each) {
    std::vector<hintier_residency> entries(1024);
    std::uint64_t end = offset + length;
    while (offset < end) {
        hintier_query query{};
        query.offset = offset;
        query.length = end - offset;
        query.entries = reinterpret_cast<std::uintptr_t>(entries.data());
        query.max = static_cast<std::uint32_t>(entries.size());
        if (ioctl(fd_.get(), HINTIER_IOC_QUERY, &query) != 0)
            return fail(errno, "cannot ask what is where in {}:{}: {}", offset, end - offset,
                        errno_text(errno));
        for (std::uint32_t i = 0; i < std::min(query.count, query.max); i++)
            each(entries[i]);
        if (query.next <= offset)
            return fail(EPROTO, "the kernel side's answer does not advance at {}", offset);
        offset = query.next;
    }
    return {};
}

} // namespace hintier::cli
