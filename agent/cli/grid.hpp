// SPDX-License-Identifier: Apache-2.0
// Rows of text with aligned columns: numbers to the right, words to the left.
#pragma once

#include <string>
#include <vector>

namespace hintier::cli {

class Grid {
public:
    // A heading that starts with '>' aligns its column to the right.
    explicit Grid(std::vector<std::string> headings);

    void row(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }
    std::string text() const;

private:
    std::vector<std::string> headings_;
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

// "name   value" lines, values aligned.
class Facts {
public:
    void add(std::string name, std::string value);
    std::string text() const;

private:
    std::vector<std::pair<std::string, std::string>> lines_;
};

} // namespace hintier::cli
