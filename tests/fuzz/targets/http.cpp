// SPDX-License-Identifier: Apache-2.0
// What a scraper sends: any bytes get one whole answer, and only GET /metrics gets the metrics.
#include "agent/daemon/http.hpp"
#include "agent/daemon/metrics_config.hpp"
#include "tests/fuzz/target.hpp"

namespace {

std::vector<hintier::fuzz::Bytes> requests() {
    std::vector<hintier::fuzz::Bytes> seeds;
    for (const std::string_view text :
         {"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD /metrics?x=1 HTTP/1.0\n\n",
          "POST / HTTP/1.1\r\n\r\n", "127.0.0.1:9466", "[::1]:0", "/run/x"})
        seeds.emplace_back(text.begin(), text.end());
    return seeds;
}

} // namespace

FUZZ_TARGET(http, requests) {
    using hintier::fuzz::require;
    const std::string text(input.begin(), input.end());
    bool asked = false;
    const std::string answer = hintier::http_answer(text, "/metrics", [&] {
        asked = true;
        return std::string("x 1\n");
    });
    require(answer.starts_with("HTTP/1.1 "), "an answer has a status");
    require(answer.find("\r\n\r\n") != answer.npos, "its head ends");
    require(asked == answer.starts_with("HTTP/1.1 200 "), "metrics are told to those who ask");
    require(!asked || text.starts_with("GET /metrics") || text.starts_with("HEAD /metrics"),
            "nothing else asks for metrics");
    (void)hintier::http_head_complete(text);

    if (const auto address = hintier::metrics_address(text))
        require(address->size <= sizeof(address->storage), "an address has its size");
}
