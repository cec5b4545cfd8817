// SPDX-License-Identifier: Apache-2.0
// Doctor shown machines that are a directory.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "agent/cli/control_device.hpp"
#include "agent/cli/doctor/machine.hpp"

namespace hintier::cli {
namespace {

namespace fs = std::filesystem;

class DoctorTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/hintier-doctor-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        machine_ = {name, "6.1.0-50-amd64"};
    }
    void TearDown() override { fs::remove_all(machine_.root); }

    void put(const std::string& path, const std::string& text = "") {
        fs::create_directories(fs::path(machine_.path(path)).parent_path());
        std::ofstream(machine_.path(path)) << text << "\n";
    }
    // A finding that is not good says what to do.
    static void expect(const Finding& found, Verdict verdict) {
        EXPECT_EQ(found.verdict, verdict) << found.check << ": " << found.text;
        EXPECT_EQ(found.fix.empty(), verdict == Verdict::ok) << found.check;
        EXPECT_FALSE(found.text.empty()) << found.check;
    }

    Machine machine_;
};

TEST_F(DoctorTest, Kernel) {
    expect(check_kernel(machine_), Verdict::ok);
    machine_.release = "7.0.1";
    expect(check_kernel(machine_), Verdict::ok);
    machine_.release = "5.10.0-13-amd64";
    expect(check_kernel(machine_), Verdict::fail);
    machine_.release = "strange";
    expect(check_kernel(machine_), Verdict::warn);
}

TEST_F(DoctorTest, BareMachine) {
    expect(check_headers(machine_), Verdict::warn);
    expect(check_device_mapper(machine_), Verdict::fail);
    expect(check_module(machine_), Verdict::fail);
    expect(check_control(machine_), Verdict::fail);
    expect(check_btf(machine_), Verdict::warn);
    expect(check_tracing(machine_), Verdict::warn);
    expect(check_privileges(machine_), Verdict::warn);
    expect(check_unit(machine_), Verdict::warn);
    expect(check_containers(machine_), Verdict::ok);
}

TEST_F(DoctorTest, ModuleInstalledThenLoaded) {
    put("/lib/modules/6.1.0-50-amd64/updates/dkms/hintier.ko");
    expect(check_module(machine_), Verdict::warn);
    expect(check_headers(machine_), Verdict::ok);
    put("/sys/module/hintier/version", "0.0.0-other");
    expect(check_module(machine_), Verdict::warn);
    put("/sys/module/hintier/version", HINTIER_VERSION);
    expect(check_module(machine_), Verdict::ok);
    put("/sys/kernel/tracing/events/enable");
    expect(check_tracing(machine_), Verdict::warn);
    put("/sys/kernel/tracing/events/hintier/enable");
    expect(check_tracing(machine_), Verdict::ok);
}

TEST_F(DoctorTest, DeviceMapperThreeWays) {
    put("/lib/modules/6.1.0-50-amd64/kernel/drivers/md/dm-mod.ko");
    expect(check_device_mapper(machine_), Verdict::warn);
    put("/proc/misc", "236 device-mapper");
    expect(check_device_mapper(machine_), Verdict::ok);
    fs::remove(machine_.path("/proc/misc"));
    put("/lib/modules/6.1.0-50-amd64/modules.builtin", "kernel/drivers/md/dm-mod.ko");
    expect(check_device_mapper(machine_), Verdict::ok);
}

TEST_F(DoctorTest, Privileges) {
    put("/proc/self/status", "Name:\thintierctl\nCapEff:\t000001ffffffffff");
    expect(check_privileges(machine_), Verdict::ok);
    put("/proc/self/status", "CapEff:\t0000000000000000");
    Finding none = check_privileges(machine_);
    expect(none, Verdict::warn);
    EXPECT_NE(none.text.find("CAP_BPF"), std::string::npos);
}

TEST_F(DoctorTest, Service) {
    fs::create_directories(machine_.path("/run/systemd/system"));
    expect(check_unit(machine_), Verdict::warn);
    put("/lib/systemd/system/hintierd.service");
    expect(check_unit(machine_), Verdict::warn);
    put("/run/hintier/hintierd.sock");
    expect(check_unit(machine_), Verdict::ok);
}

TEST_F(DoctorTest, MountsWithoutDiscardAndOverlays) {
    put("/proc/self/mountinfo",
        "36 35 253:0 / /srv/kv rw,noatime shared:1 - ext4 /dev/mapper/kv0 rw,errors=continue\n"
        "37 35 253:0 / /srv/ok rw shared:1 master:2 - xfs /dev/mapper/kv0 rw,discard\n"
        "38 35 253:1 / /srv/other rw - ext4 /dev/mapper/kv1 rw\n"
        "39 35 0:40 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw,lowerdir=/l");
    Findings found = check_mounts(machine_, "253:0", "kv0");
    ASSERT_EQ(found.size(), 2u);
    expect(found[0], Verdict::warn);
    EXPECT_EQ(found[0].fix, "mount -o remount,discard /srv/kv");
    expect(found[1], Verdict::ok);
    Finding overlay = check_containers(machine_);
    expect(overlay, Verdict::warn);
    EXPECT_NE(overlay.text.find("/var/lib/docker/overlay2/x/merged"), std::string::npos);
}

TEST_F(DoctorTest, DevicesAndPartitions) {
    std::string disk = "/sys/devices/pci/nvme0n1";
    put(disk + "/queue/rotational", "0");
    put(disk + "/queue/write_cache", "write back");
    put(disk + "/queue/discard_max_bytes", "0");
    put(disk + "/queue/logical_block_size", "512");
    put(disk + "/nvme0n1p1/partition", "1");
    fs::create_directories(machine_.path("/sys/dev/block"));
    fs::create_directory_symlink(machine_.path(disk), machine_.path("/sys/dev/block/259:0"));
    fs::create_directory_symlink(machine_.path(disk + "/nvme0n1p1"),
                                 machine_.path("/sys/dev/block/259:1"));
    for (const char* id : {"259:0", "259:1"}) {
        Findings bulk = check_device(machine_, id, "bulk");
        ASSERT_EQ(bulk.size(), 4u) << id;
        expect(bulk[0], Verdict::ok);
        EXPECT_NE(bulk[1].text.find("volatile write cache"), std::string::npos) << id;
        expect(bulk[2], Verdict::warn);
        expect(bulk[3], Verdict::ok);
        EXPECT_EQ(bulk[3].text, "512 bytes") << id;
    }
    expect(check_device(machine_, "259:0", "fast")[2], Verdict::ok);
    put(disk + "/queue/rotational", "1");
    put(disk + "/queue/logical_block_size", "16384");
    Findings odd = check_device(machine_, "259:0", "bulk");
    expect(odd[0], Verdict::warn);
    expect(odd[3], Verdict::fail);
    expect(check_device(machine_, "1:2", "bulk")[0], Verdict::fail);
}

TEST(Reason, EachHasItsLine) {
    std::set<std::string> seen;
    for (unsigned reason = HINTIER_REASON_VERB; reason <= HINTIER_REASON_STATE; reason++)
        seen.insert(reason_text(reason));
    EXPECT_GE(seen.size(), 11u);
    EXPECT_TRUE(reason_text(HINTIER_REASON_NONE).empty());
    EXPECT_NE(reason_text(1000).find("update"), std::string::npos);
}

} // namespace
} // namespace hintier::cli
