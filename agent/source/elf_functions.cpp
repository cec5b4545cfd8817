// SPDX-License-Identifier: Apache-2.0
#include "agent/source/elf_functions.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <fcntl.h>

#include <gelf.h>
#include <libelf.h>

#include "agent/base/fd.hpp"

namespace hintier {

namespace {

struct ElfEnd {
    void operator()(Elf* elf) const { elf_end(elf); }
};

// The place in the file of an address in memory; nothing when no loaded segment has it.
std::optional<std::uint64_t> place_of(Elf* elf, std::uint64_t address) {
    std::size_t segments = 0;
    if (elf_getphdrnum(elf, &segments)) return {};
    for (std::size_t i = 0; i < segments; ++i) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, static_cast<int>(i), &segment)) return {};
        if (segment.p_type == PT_LOAD && segment.p_flags & PF_X && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz) {
            return address - segment.p_vaddr + segment.p_offset;
        }
    }
    return {};
}

void collect(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
             const std::function<bool(std::string_view)>& wanted, std::vector<ElfFunction>& found) {
    Elf_Data* data = elf_getdata(section, nullptr);
    if (!data || !header.sh_entsize) return;
    const std::size_t symbols = data->d_size / header.sh_entsize;
    for (std::size_t i = 0; i < symbols; ++i) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, static_cast<int>(i), &symbol)) return;
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
        const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (!name || !wanted(name)) continue;
        const auto place = place_of(elf, symbol.st_value);
        if (place) found.push_back({name, *place});
    }
}

} // namespace

Result<std::vector<ElfFunction>>
elf_functions(const std::string& path, const std::function<bool(std::string_view)>& wanted) {
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return system_failure(path);
    (void)elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(fd.get(), ELF_C_READ, nullptr));
    GElf_Ehdr head;
    if (!elf || elf_kind(elf.get()) != ELF_K_ELF || !gelf_getehdr(elf.get(), &head) ||
        (head.e_type != ET_DYN && head.e_type != ET_EXEC)) {
        return failure(path + ": neither a shared library nor a binary", ENOEXEC);
    }
    std::vector<ElfFunction> found;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header)) continue;
        if (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB) {
            collect(elf.get(), section, header, wanted, found);
        }
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.offset != b.offset ? a.offset < b.offset : a.name < b.name;
    });
    found.erase(std::unique(found.begin(), found.end(),
                            [](const auto& a, const auto& b) { return a.offset == b.offset; }),
                found.end());
    return found;
}

} // namespace hintier
