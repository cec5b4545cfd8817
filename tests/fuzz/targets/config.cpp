// SPDX-License-Identifier: Apache-2.0
// hintierd.toml: any text is a configuration or an error with a text.
#include "agent/daemon/config.hpp"
#include "tests/fuzz/target.hpp"

FUZZ_TARGET(config, hintier::fuzz::no_seeds) {
    const std::string text(input.begin(), input.end());
    const auto config = hintier::parse_config(text, "fuzz.toml");
    if (!config) {
        hintier::fuzz::require(config.error().text.starts_with("fuzz.toml:"),
                               "an error names the file");
        return;
    }
    for (const hintier::Root& root : config->roots)
        hintier::fuzz::require(root.path.starts_with('/') && root.adapter &&
                                   root.group < HINTIER_GROUPS,
                               "a root that was accepted is valid");
}
