#include "core/fail.hpp"
#include "matrices/transfer.hpp"

namespace bcsc::suitesparse {

std::string why_no_transfer() { return "built without libcurl"; }

transfer_outcome transfer(const transfer_request& request, const transfer_events&) {
  core::fail(errc::unsupported, "{} cannot be loaded: {}", request.url, why_no_transfer());
}

}  // namespace bcsc::suitesparse
