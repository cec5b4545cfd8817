// SPDX-License-Identifier: Apache-2.0
#include "agent/sink/ioctl_sink.hpp"

#include <algorithm>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>

#include "agent/base/log.hpp"

namespace hintier {

namespace {

constexpr std::uint64_t needed = HINTIER_FEATURE_CLASSIFY | HINTIER_FEATURE_FETCH;

bool to_fast(const hintier_hint& hint) {
    return hint.verb == HINTIER_VERB_FETCH && !(hint.flags & HINTIER_FLAG_STAGE);
}

} // namespace

const char* reason_text(std::uint32_t reason) {
    switch (reason) {
    case HINTIER_REASON_NONE:
        return "no reason given";
    case HINTIER_REASON_VERB:
        return "unknown verb";
    case HINTIER_REASON_UNSUPPORTED:
        return "not built into this module";
    case HINTIER_REASON_FLAGS:
        return "unknown flag";
    case HINTIER_REASON_RESERVED:
        return "reserved member not zero";
    case HINTIER_REASON_CLASS:
        return "unknown class";
    case HINTIER_REASON_GROUP:
        return "unknown group";
    case HINTIER_REASON_ALIGN:
        return "misaligned range";
    case HINTIER_REASON_RANGE:
        return "range ends beyond the tier";
    case HINTIER_REASON_ACCESS:
        return "not allowed by the shown descriptor";
    case HINTIER_REASON_FULL:
        return "table or quota full";
    case HINTIER_REASON_FAULT:
        return "unreadable hint";
    case HINTIER_REASON_EPOCH:
        return "unknown write epoch";
    case HINTIER_REASON_BUDGET:
        return "fast's budget of bytes a day is spent";
    case HINTIER_REASON_STATE:
        return "tier suspended, failed or gone";
    }
    return "reason unknown to this agent";
}

Result<int> IoctlSink::bind(std::uint32_t tier) {
    if (const auto it = bound_.find(tier); it != bound_.end()) return it->second.get();

    const auto node = node_of_(tier);
    if (!node) return Failure(node.error());
    Fd control(::open(HINTIER_CONTROL_PATH, O_RDWR | O_CLOEXEC));
    if (!control) return system_failure(HINTIER_CONTROL_PATH);
    hintier_version version{};
    if (ioctl(control.get(), HINTIER_IOC_VERSION, &version)) {
        return system_failure(HINTIER_CONTROL_PATH);
    }
    if (version.major != HINTIER_ABI_MAJOR || (version.features & needed) != needed) {
        return failure(
            "the hintier module and this agent do not fit: install the same version of both",
            EPROTO);
    }
    Fd device(::open(node->c_str(), (show_ == Show::writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
    if (!device && show_ == Show::writable) {
        log::warning("{}; no value tables for it, see rules.worth in hintierd.toml(5)",
                     system_failure(*node).value().text);
        device = Fd(::open(node->c_str(), O_RDONLY | O_CLOEXEC)); // hints need no more
    }
    if (!device) return system_failure(*node);
    hintier_bind bind{};
    bind.fd = device.get();
    if (ioctl(control.get(), HINTIER_IOC_BIND, &bind)) {
        return system_failure(std::string("bind to ").append(*node));
    }
    const int fd = control.get();
    bound_.emplace(tier, std::move(control));
    return fd;
}

Result<void> IoctlSink::send(std::uint32_t tier, std::span<hintier_hint> hints) {
    const auto control = bind(tier);
    if (!control) {
        counts_.refused += hints.size();
        return Failure(control.error());
    }
    Result<void> result;
    while (!hints.empty()) {
        hintier_batch batch{};
        batch.hints = reinterpret_cast<std::uintptr_t>(hints.data());
        batch.count =
            static_cast<std::uint32_t>(std::min<std::size_t>(hints.size(), HINTIER_BATCH_MAX));
        const bool failed = ioctl(*control, HINTIER_IOC_HINT, &batch) != 0;
        const int error = failed ? errno : 0;
        const std::size_t done = failed ? std::min(batch.done, batch.count) : batch.count;
        ++counts_.batches;
        counts_.sent += done;
        for (const hintier_hint& hint : hints.first(done)) {
            if (hint.verb < counts_.by_verb.size()) ++counts_.by_verb[hint.verb];
        }
        hints = hints.subspan(done);
        if (!failed) continue;

        if (error == ENODEV || error == ENXIO) {
            counts_.refused += hints.size();
            forget(tier);
            return system_failure("hint", error);
        }
        if (result) {
            result = failure(std::string("hint: ").append(reason_text(batch.reason)), error);
        }
        // Fast's budget is spent: so it is for all that is to come there, and for nothing else.
        if (error == EDQUOT && to_fast(hints.front())) {
            const auto left = std::ranges::remove_if(hints, to_fast);
            counts_.refused += left.size();
            hints = hints.first(hints.size() - left.size());
            continue;
        }
        // A range may have become wrong since it was mapped; anything else holds for all hints.
        if (error != ERANGE && error != EINVAL) {
            counts_.refused += hints.size();
            return result;
        }
        ++counts_.refused;
        hints = hints.subspan(1);
    }
    return result;
}

Result<void> IoctlSink::rule(const hintier_values& values) {
    Result<void> result;
    std::vector<std::uint32_t> gone;
    for (const auto& [tier, control] : bound_) {
        if (ioctl(control.get(), HINTIER_IOC_VALUES, &values) == 0) {
            ++counts_.tables;
            continue;
        }
        if (errno == ENODEV || errno == ENXIO) gone.push_back(tier);
        if (result) result = system_failure("value table");
    }
    for (const std::uint32_t tier : gone)
        forget(tier);
    return result;
}

} // namespace hintier
