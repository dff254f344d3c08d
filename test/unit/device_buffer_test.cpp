// Owners of device memory when the device fails them: the GPU is a fake that fails when told to. Not linked with the
// library, whose GPU would answer instead.
#include "core/buffer.hpp"

#include <gtest/gtest.h>

#include <new>
#include <optional>

namespace bcsc::core::gpu {

namespace {

enum class mood { well, poisoned, out_of_host_memory };
mood now = mood::well;
int num_held = 0;
float memory[16];

}  // namespace

device_guard::device_guard(int) {
  if (now == mood::poisoned) throw error(errc::context_poisoned, "an illegal address");
  if (now == mood::out_of_host_memory) throw std::bad_alloc();  // as making such an error's message may
}
device_guard::~device_guard() = default;
allocation allocate(std::size_t) {
  ++num_held;
  return {memory, nullptr};
}
void release(const allocation&) noexcept { --num_held; }

namespace {

class device_buffer_of : public ::testing::TestWithParam<mood> {
 protected:
  void SetUp() override {
    now = mood::well;
    num_held = 0;
    held_.emplace(0, 16);
    ASSERT_EQ(num_held, 1);
  }
  void TearDown() override { now = mood::well; }
  std::optional<device_buffer<float>> held_;
};

TEST_P(device_buffer_of, a_device_that_fails_goes_without_a_throw) {
  now = GetParam();
  held_.reset();  // a throw would end the process
  EXPECT_EQ(num_held, now == mood::well ? 0 : 1);
}

TEST_P(device_buffer_of, a_device_that_fails_can_be_assigned_to) {
  now = GetParam();
  *held_ = device_buffer<float>();
  EXPECT_EQ(held_->data(), nullptr);
  EXPECT_EQ(num_held, now == mood::well ? 0 : 1);
}

TEST_P(device_buffer_of, a_device_that_fails_throws_where_one_is_made) {
  now = GetParam();
  if (now == mood::well) return;
  EXPECT_ANY_THROW(device_buffer<float>(0, 16));
}

INSTANTIATE_TEST_SUITE_P(moods, device_buffer_of,
                         ::testing::Values(mood::well, mood::poisoned, mood::out_of_host_memory));

}  // namespace
}  // namespace bcsc::core::gpu
