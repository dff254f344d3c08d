#pragma once

#include <vector>

#include "lib/choice/choice.hpp"

/// Configs for matrices of one kind, which have no costs of their own: they are predicted to take a share of what
/// others do.
namespace bcsc::choice {

/// Whether `p` is of the kind that `kernel` is made for, and large enough that a share is known.
bool has_share(const problem& p, const registered_kernel& kernel);

/// Whether that is a share of the time of kernels like `other`.
bool takes_share_of(const registered_kernel& kernel, const registered_kernel& other);

/// Of whose time, as the reason for a choice says it; empty for a kernel that has costs of its own.
const char* share_text(const registered_kernel& kernel);

/// Predicts those of `all` that have a share and whose others are predicted.
void predict_shares(const problem& p, std::vector<prediction>& all);

}  // namespace bcsc::choice
