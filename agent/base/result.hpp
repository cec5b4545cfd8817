// SPDX-License-Identifier: Apache-2.0
// A value or the reason why there is none. A reason is an errno and a text that gains context on
// its way up: "bind /dev/dm-0: no hintier tier". Rooms return errors, only the daemon logs them.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace hintier {

struct Error {
    int code = 0; // errno, or 0 when no system call failed
    std::string text;

    // The same error as seen by a caller that was busy with `doing`.
    Error within(std::string_view doing) && {
        text.insert(0, ": ").insert(0, doing);
        return std::move(*this);
    }
};

template <class T>
using Result = tl::expected<T, Error>;

using Failure = tl::unexpected<Error>;

inline Failure failure(std::string text, int code = 0) {
    return Failure(Error{code, std::move(text)});
}

// What errno says now, about `what`.
inline Failure system_failure(std::string_view what, int code = errno) {
    return failure(std::string(what).append(": ").append(std::strerror(code)), code);
}

} // namespace hintier
