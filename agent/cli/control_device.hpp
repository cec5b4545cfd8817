// SPDX-License-Identifier: Apache-2.0
// /dev/hintier bound to one tier: hints, write epochs and what is where. Errors come back as one
// line that says what to do, made from errno and the reason the kernel gives.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <hintier/ioctl.h>

#include "agent/base/fd.hpp"
#include "agent/cli/fail.hpp"

namespace hintier::cli {

class ControlDevice {
public:
    enum class Access { advise, owner };

    // `node` is the tier's block device. `owner` is needed for DONE.
    static Result<ControlDevice> bind(const std::string& node, Access access);

    const hintier_bind& tier() const { return bind_; }
    const hintier_version& version() const { return version_; }

    Result<std::uint64_t> epoch();
    // Sends the hints in batches; an error names the element that was refused.
    Result<void> hint(std::span<const hintier_hint> hints);
    // A table in the place of the one before; `head` but for the place of the rows.
    Result<void> values(hintier_values head, std::span<const hintier_value_row> rows);
    // Until nothing that was fetched under the cookie is on the way any more; false in time out.
    Result<bool> wait(std::uint64_t cookie, std::uint32_t timeout_ms);
    // Calls `each` for every run of units in the same state, in order.
    Result<void> query(std::uint64_t offset, std::uint64_t length,
                       const std::function<void(const hintier_residency&)>& each);

private:
    Fd fd_;
    hintier_version version_{};
    hintier_bind bind_{};
};

// The kernel side's version; an error says how to get it.
Result<hintier_version> control_version();

// "class is unknown to the kernel side", and so on.
std::string reason_text(std::uint32_t reason);

} // namespace hintier::cli
