// What the measured products nearest to one say of a prediction: its correction, and its doubt.
#include "lib/choice/neighbours.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"

namespace bcsc::choice {
namespace {

const product_shape& here() {
  static const product_shape shape{
      .rows = 1000, .inner = 1000, .nnz = 10000, .cols = 32, .shared_nnzc = 8000, .longest_row = 20};
  return shape;
}

/// A measured product as far from here as said, with what one config's time was of the model's.
measured_case at(double distance, const std::string& residual) {
  features f = features_of(here());
  f[0] += static_cast<float>(distance);
  return {value_type::fp32, f, residual};
}

correction correction_by(const std::vector<measured_case>& known) {
  return neighbours(known, value_type::fp32, here()).correct(0);
}

TEST(features, count_n_more_on_a_gpu_and_shared_columns_less) {
  product_shape wider = here(), shared = here();
  wider.cols *= 2;
  shared.shared_nnzc /= 2;
  const auto steps = [](product_shape from, product_shape to, std::size_t feature) {
    return features_of(to)[feature] - features_of(from)[feature];
  };
  EXPECT_FLOAT_EQ(steps(here(), wider, 0), 2);
  EXPECT_FLOAT_EQ(steps(here(), shared, 5), 0.45F);
  product_shape on_cpu = here();
  on_cpu.read_by_height = {{1, 1}};
  for (product_shape* const p : {&wider, &shared}) p->read_by_height = on_cpu.read_by_height;
  EXPECT_FLOAT_EQ(steps(on_cpu, wider, 0), 1);
  EXPECT_FLOAT_EQ(steps(on_cpu, shared, 5), 1.5F);
}

TEST(features, tell_diagonals_from_scattered_columns_on_a_gpu) {
  constexpr std::size_t whole_rows = 6, sectors = 7;
  product_shape diagonals = here(), scattered = here();
  diagonals.sectors_per_entry = {0.125, 0.25, 0.5, 1};
  scattered.sectors_per_entry = {1, 1, 1, 1};
  EXPECT_FLOAT_EQ(features_of(scattered)[sectors] - features_of(diagonals)[sectors], 3 * 0.8F);
  for (product_shape* const p : {&diagonals, &scattered}) p->in_place = true;
  EXPECT_FLOAT_EQ(features_of(scattered)[sectors] - features_of(diagonals)[sectors], 3 * 1.5F);
  EXPECT_EQ(features_of(scattered)[whole_rows], 0);
  for (product_shape* const p : {&diagonals, &scattered}) p->read_by_height = {{1, 1}};
  EXPECT_EQ(features_of(scattered)[sectors], features_of(diagonals)[sectors]);
}

TEST(neighbours, are_as_near_as_what_is_known_of_them) {
  product_shape diagonals = here(), scattered = here();
  diagonals.sectors_per_entry = {0.125, 0.125, 0.125, 0.125};
  scattered.sectors_per_entry = {1, 1, 1, 1};
  const std::vector<measured_case> known = {
      {value_type::fp32, features_of(diagonals), {residual_of(1.25)}},
      {value_type::fp32, features_of(scattered), {residual_of(0.8)}},
  };
  const auto factor = [&](const product_shape& p) { return neighbours(known, value_type::fp32, p).correct(0).factor; };
  EXPECT_GT(factor(diagonals), 1.2);
  EXPECT_LT(factor(scattered), 0.84);
  EXPECT_NEAR(factor(here()), 1, 0.01) << "of which nothing is known: as near to the one as to the other";
}

TEST(neighbours, keeps_ratios_to_two_per_cent) {
  for (const double ratio : {0.4, 0.9, 1.0, 1.02, 1.5, 2.7}) {
    EXPECT_NEAR(std::exp(log_of(residual_of(ratio))), ratio, 0.012 * ratio);
  }
  EXPECT_EQ(residual_of(100), residual_of(std::exp(1)));
  EXPECT_EQ(residual_of(1e-9), residual_of(std::exp(-1)));
  for (const double ratio : {1e-9, 1.0, 1e9}) EXPECT_TRUE(std::isprint(residual_of(ratio)));
}

TEST(neighbours, round_residuals_to_whole_steps) {
  for (const char residual : {residual_of(0.1), residual_of(0.7), residual_of(1), residual_of(1.3), residual_of(10)}) {
    EXPECT_EQ(rounded(residual, 1), residual);
    for (const int step : {4, 23}) {
      const char coarse = rounded(residual, step);
      EXPECT_TRUE(is_residual(coarse));
      EXPECT_EQ((coarse - no_residual) % step, 0);
      EXPECT_LE(std::abs(coarse - residual), step / 2 + (std::abs(residual - no_residual) == 46 ? 1 : 0));
    }
  }
  EXPECT_FALSE(is_residual(' '));
  EXPECT_FALSE(is_residual('~'));
}

TEST(neighbours, the_nearest_count_most) {
  const product_shape mesh{.rows = 1000, .inner = 1000, .nnz = 7000, .cols = 32, .shared_nnzc = 3000, .longest_row = 7};
  const product_shape graph{
      .rows = 9000, .inner = 9000, .nnz = 90000, .cols = 32, .shared_nnzc = 80000, .longest_row = 5000};
  const std::string slow{residual_of(2), no_residual}, fast{residual_of(0.5), no_residual};
  const std::vector<measured_case> known{{value_type::fp32, features_of(mesh), slow},
                                         {value_type::fp32, features_of(graph), fast},
                                         {value_type::fp64, features_of(graph), slow}};
  const auto factor = [&](value_type type, const product_shape& p, std::size_t row) {
    return neighbours(known, type, p).correct(row).factor;
  };
  EXPECT_NEAR(factor(value_type::fp32, mesh, 0), 2, 0.05);
  EXPECT_NEAR(factor(value_type::fp32, graph, 0), 0.5, 0.02);
  EXPECT_NEAR(factor(value_type::fp64, graph, 0), 2, 0.05);
  EXPECT_EQ(factor(value_type::fp32, mesh, 1), 1);
  // Far from everything, and where nothing is known, the terms alone count.
  product_shape far = mesh;
  far.cols = 1 << 30;
  EXPECT_NEAR(factor(value_type::fp32, far, 0), 1, 0.1);
  EXPECT_EQ(factor(value_type::fp16, mesh, 0), 1);
  far.longest_row = 0;
  EXPECT_EQ(factor(value_type::fp32, far, 0), 1);
}

TEST(neighbours, remember_what_the_costs_got_wrong_for_this_type) {
  const product_shape shape{.rows = 100, .inner = 100, .nnz = 500, .cols = 32, .shared_nnzc = 400, .longest_row = 7};
  const std::string residuals{residual_of(1.0), residual_of(0.5)};
  const measured_case seen{value_type::fp32, features_of(shape), residuals};
  const neighbours near(std::span(&seen, 1), value_type::fp32, shape);
  EXPECT_NEAR(near.correct(0).factor, 1, 1e-6);
  EXPECT_NEAR(near.correct(1).factor, 0.5, 0.02);
  EXPECT_EQ(neighbours(std::span(&seen, 1), value_type::fp64, shape).correct(1).factor, 1) << "another type";
}

TEST(correction, is_none_and_in_full_doubt_without_neighbours) {
  const correction by = correction_by({});
  EXPECT_EQ(by.factor, 1);
  EXPECT_DOUBLE_EQ(by.doubt, std::hypot(least_doubt, unmeasured_doubt));
}

TEST(correction, follows_a_product_at_the_same_place) {
  const std::string slower(1, residual_of(1.3));
  const correction by = correction_by({at(0, slower)});
  EXPECT_NEAR(by.factor, 1.3, 0.02);
  EXPECT_NEAR(by.doubt, least_doubt, 0.02);
}

TEST(correction, never_goes_beyond_a_factor_of_two) {
  const std::string slowest(1, residual_of(100)), fastest(1, residual_of(0.01));
  EXPECT_EQ(correction_by({at(0, slowest)}).factor, max_correction);
  EXPECT_EQ(correction_by({at(0, fastest)}).factor, 1 / max_correction);
}

TEST(doubt, grows_with_the_distance) {
  const std::string slower(1, residual_of(1.1));
  double before = 0;
  for (const double distance : {0.0, 0.5, 1.0, 2.0, 8.0}) {
    const double doubt = correction_by({at(distance, slower)}).doubt;
    EXPECT_GT(doubt, before) << distance;
    before = doubt;
  }
  EXPECT_LT(before, std::hypot(least_doubt, unmeasured_doubt));
}

TEST(doubt, is_what_neighbours_disagree_by) {
  const std::string slower(1, residual_of(1.4)), faster(1, residual_of(1 / 1.4));
  const double agreed = correction_by({at(0.2, slower), at(-0.2, slower)}).doubt;
  const double disputed = correction_by({at(0.2, slower), at(-0.2, faster)}).doubt;
  EXPECT_LT(agreed, 0.1);
  EXPECT_NEAR(disputed, std::log(1.4), 0.05);
}

TEST(doubt, is_told_where_a_plan_explains_its_choice) {
  const spmm_plan<float> chosen(context::cpu(1), generate::from_specification<float>("stencil5:30,30"), {.cols = 32});
  EXPECT_NE(chosen.explain().find(" us, give or take "), std::string::npos) << chosen.explain();
}

}  // namespace
}  // namespace bcsc::choice
