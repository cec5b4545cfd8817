// SPDX-License-Identifier: Apache-2.0
// Model files that are read through the page cache: what comes into it, told by tensor and expert.
// A process that has its weights mapped asks nobody for them, so this is where they are seen.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "agent/base/result.hpp"
#include "agent/model/event.hpp"
#include "agent/objects/model_file.hpp"
#include "agent/source/fill_source.hpp"

namespace hintier {

// What a read can be of: a tensor, or one expert's part of a fused one.
struct ModelPart {
    Role role = Role::other;
    std::uint32_t layer = 0;
    std::uint32_t expert = 0; // of role expert
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t filled = 0; // bytes that came in, again and again
};

// In order of file and offset.
std::vector<ModelPart> parts_of(const ModelFiles& model);

// `bytes` came in within [offset, offset + region): each part gets its share of them.
void fill(std::vector<ModelPart>& parts, std::uint32_t file, std::uint64_t offset,
          std::uint64_t region, std::uint64_t bytes);

class Models {
public:
    struct Model {
        std::string path;
        bool known = false;
        std::string wrong; // why not, as it was said
        ModelFiles files;  // without its tensors: `parts` has them
        std::vector<ModelPart> parts;
        std::vector<FileId> ids; // of its files
        std::uint64_t filled = 0;
    };

    // `fills`: nullptr: nothing is watched, and only what a recording tells comes.
    Models(const std::vector<std::string>& paths, FillSource* fills);

    // Looks for models that are not known yet, and for files that are others now. Reads their
    // heads, which takes a while for large ones.
    void check();
    void apply(const Event& event); // filled
    const std::vector<Model>& all() const { return models_; }

private:
    struct Owner {
        std::size_t model = 0;
        std::uint32_t file = 0;
    };

    void forget(Model& model);
    Result<void> learn(Model& model, std::size_t index);
    bool unchanged(const Model& model) const;

    std::vector<Model> models_;
    std::unordered_map<FileId, Owner, FileIdHash> owners_; // generations are not told apart
    FillSource* fills_;
};

} // namespace hintier
