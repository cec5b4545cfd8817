// SPDX-License-Identifier: Apache-2.0
// As much of HTTP/1 as a scraper needs: one GET, one answer, the end.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace hintier {

inline constexpr std::size_t http_max_head = 8192;

// Is the head of a request complete in `text`? Headers are not looked at.
bool http_head_complete(std::string_view text);

// The whole answer to a request with this head, which may be any bytes. `body` is asked only
// when the request is one for `path`.
std::string http_answer(std::string_view head, std::string_view path,
                        const std::function<std::string()>& body);

// An answer without a body of its own: "503 Service Unavailable".
std::string http_refusal(std::string_view status);

} // namespace hintier
