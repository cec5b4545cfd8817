// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/exposition.hpp"

#include <fmt/format.h>

namespace hintier {

namespace {

constexpr std::string_view type_names[] = {"counter", "gauge", "histogram"};

void append_escaped(std::string& text, std::string_view value, bool quoted) {
    for (const char c : value) {
        if (c == '\\')
            text += "\\\\";
        else if (c == '\n')
            text += "\\n";
        else if (c == '"' && quoted)
            text += "\\\"";
        else
            text += c;
    }
}

} // namespace

void Exposition::family(std::string_view name, Type type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ");
    append_escaped(text_, help, false);
    text_.append("\n# TYPE ").append(name).append(" ");
    text_.append(type_names[static_cast<std::size_t>(type)]).append("\n");
}

void Exposition::sample(std::string_view suffix, Labels labels, double value) {
    text_.append(name_).append(suffix);
    char before = '{';
    for (const auto& [name, said] : labels) {
        text_ += before;
        text_.append(name).append("=\"");
        append_escaped(text_, said, true);
        text_ += '"';
        before = ',';
    }
    if (labels.size()) text_ += '}';
    // All digits of a count up to 2^53, the shortest form of anything else.
    text_ += fmt::format(" {}\n", value);
}

} // namespace hintier
