#pragma once

namespace bcsc::choice {

/// How many times longer a GPU takes than the H200 that was measured, by what a cost is made of: starting, what L2
/// and memory bring, and what all multiprocessors share. What one warp does by itself takes as long.
struct gpu_scales {
  double launch = 1, cache = 1, memory = 1, multiprocessors = 1;
};

}  // namespace bcsc::choice
