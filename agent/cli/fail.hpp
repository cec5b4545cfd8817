// SPDX-License-Identifier: Apache-2.0
// An Error from an errno and a format: `return fail(EBUSY, "{} is mounted", path);`
#pragma once

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "agent/base/result.hpp"

namespace hintier::cli {

template <class... Arguments>
Failure fail(int code, fmt::format_string<Arguments...> form, Arguments&&... arguments) {
    return failure(fmt::format(form, std::forward<Arguments>(arguments)...), code);
}

} // namespace hintier::cli
