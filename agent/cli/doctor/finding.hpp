// SPDX-License-Identifier: Apache-2.0
// One thing that doctor looked at: how it is, and what to do about it.
#pragma once

#include <string>
#include <vector>

namespace hintier::cli {

enum class Verdict {
    ok,
    warn, // works, but worse or not everything
    fail, // something needed is missing
};

struct Finding {
    std::string check;
    Verdict verdict = Verdict::ok;
    std::string text;
    std::string fix; // a command or a sentence; empty when there is nothing to do
};

inline Finding good(std::string check, std::string text) {
    return {std::move(check), Verdict::ok, std::move(text), {}};
}

inline Finding odd(std::string check, std::string text, std::string fix) {
    return {std::move(check), Verdict::warn, std::move(text), std::move(fix)};
}

inline Finding bad(std::string check, std::string text, std::string fix) {
    return {std::move(check), Verdict::fail, std::move(text), std::move(fix)};
}

using Findings = std::vector<Finding>;

} // namespace hintier::cli
