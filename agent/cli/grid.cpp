// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/grid.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace hintier::cli {

namespace {

void strip_right(std::string& line) {
    line.erase(line.find_last_not_of(' ') + 1);
    line += '\n';
}

} // namespace

Grid::Grid(std::vector<std::string> headings) : headings_(std::move(headings)) {
    for (std::string& heading : headings_) {
        right_.push_back(heading.starts_with('>'));
        if (right_.back()) heading.erase(0, 1);
    }
}

void Grid::row(std::vector<std::string> cells) {
    cells.resize(headings_.size());
    rows_.push_back(std::move(cells));
}

std::string Grid::text() const {
    std::vector<std::size_t> width;
    for (const std::string& heading : headings_)
        width.push_back(heading.size());
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size(); i++)
            width[i] = std::max(width[i], row[i].size());

    std::string out;
    auto line = [&](const std::vector<std::string>& cells) {
        std::string text;
        for (std::size_t i = 0; i < cells.size(); i++) {
            text += i ? "  " : "";
            text += right_[i] ? fmt::format("{:>{}}", cells[i], width[i])
                              : fmt::format("{:<{}}", cells[i], width[i]);
        }
        strip_right(text);
        out += text;
    };
    line(headings_);
    for (const auto& row : rows_)
        line(row);
    return out;
}

void Facts::add(std::string name, std::string value) {
    lines_.emplace_back(std::move(name), std::move(value));
}

std::string Facts::text() const {
    std::size_t width = 0;
    for (const auto& [name, value] : lines_)
        width = std::max(width, name.size());
    std::string out;
    for (const auto& [name, value] : lines_) {
        std::string text = fmt::format("{:<{}}  {}", name, width, value);
        strip_right(text);
        out += text;
    }
    return out;
}

} // namespace hintier::cli
