// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/http.hpp"

#include <fmt/format.h>

namespace hintier {

namespace {

std::string answer(std::string_view status, std::string_view type, std::string_view body,
                   bool head_only, std::string_view more = "") {
    return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}"
                       "Connection: close\r\n\r\n{}",
                       status, type, body.size(), more, head_only ? "" : body);
}

std::string_view next_word(std::string_view& line) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
}

} // namespace

bool http_head_complete(std::string_view text) {
    return text.find("\r\n\r\n") != text.npos || text.find("\n\n") != text.npos;
}

std::string http_refusal(std::string_view status) {
    return answer(status, "text/plain", fmt::format("{}\n", status), false);
}

std::string http_answer(std::string_view head, std::string_view path,
                        const std::function<std::string()>& body) {
    std::string_view line = head.substr(0, head.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view method = next_word(line);
    std::string_view target = next_word(line);
    if (line != "HTTP/1.0" && line != "HTTP/1.1") return http_refusal("400 Bad Request");
    if (method != "GET" && method != "HEAD") {
        return answer("405 Method Not Allowed", "text/plain", "GET only\n", false,
                      "Allow: GET, HEAD\r\n");
    }
    target = target.substr(0, target.find('?'));
    if (target != path) return http_refusal("404 Not Found");
    return answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", body(), method == "HEAD");
}

} // namespace hintier
