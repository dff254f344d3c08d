#include "lib/plan/explain.hpp"

#include <algorithm>

#include "bcsc/analysis.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "kernels/forms/fma_tiles/layout.hpp"

namespace bcsc::plan {

namespace {

/// The form that A is stored in.
std::string explain_form(const recipe& how) {
  const plan_facts& facts = how.facts;
  const std::string blocks = core::format("m_block {}, {} non-empty columns, nnz/nnzc {:.2f}", facts.m_block,
                                          core::count_text(facts.nnzc), facts.reuse);
  const int halves = kernels::halves_in(how.kernel->form);
  switch (how.kernel->form) {
    case kernels::operand_form::row_slices:
      return "row slices (BCSC of m_block 1; rows side by side, and the diagonals that they have in common)";
    case kernels::operand_form::block_slices:
      return core::format(
          "block slices (row blocks side by side, those of a window sorted by length), made from BCSC of {}", blocks);
    case kernels::operand_form::row_stream:
      return "row stream (BCSC of m_block 1; rows cut into pieces, sorted by length)";
    case kernels::operand_form::bricks:
      return "bricks (BCSC of m_block 1; rows in layers, each of which reuses the rows of B that the layer before has "
             "read)";
    case kernels::operand_form::fma_tiles:
      return core::format("FMA tiles of {} x {}, made from BCSC of {}", forms::fma_part_rows(facts.m_block),
                          forms::fma_step_columns, blocks);
    case kernels::operand_form::mma_tiles:
    case kernels::operand_form::staged_tiles:
      return core::format("MMA tiles of 8 x 8, made from BCSC of {}", blocks);
    case kernels::operand_form::dense:
    case kernels::operand_form::dense_half:
    case kernels::operand_form::dense_halves:
      return core::format(
          "dense, with its zeros ({:.0f} % of the values){}",
          100 * (1 - static_cast<double>(facts.nnz) /
                         std::max(1.0, static_cast<double>(facts.rows) * static_cast<double>(facts.cols))),
          halves == 0   ? ""
          : halves == 1 ? ", and each value rounded to fp16, scaled by rows"
                        : ", and each value in two parts of fp16");
    case kernels::operand_form::compact:
      break;
  }
  return core::format("compact BCSC, {}", blocks);
}

std::string explain_bricks(const recipe& how) {
  const converters::grid& g = how.grid;
  const bool layered = how.kernel->form == kernels::operand_form::bricks;
  const converters::brick_shape b =
      layered ? how.bricks_for(how.facts.kernel, how.options.cols) : converters::brick_of(g);
  return core::format("\nrows: in bricks of {}x{}{} nodes of a grid of {} x {}{}", b.x, b.y,
                      g.is_flat() ? "" : core::format("x{}", b.z), g.x, g.y,
                      g.is_flat() ? "" : core::format(" x {}", g.z));
}

/// What was done with the rows, and what it gained.
std::string explain_rows(const recipe& how) {
  const plan_facts& facts = how.facts;
  if (how.ordered == row_order::by_length) return "\nrows: sorted by length within windows of 256";
  if (how.ordered == row_order::in_bricks) return explain_bricks(how);
  if (how.leaves_rows_to_plan()) return {};
  std::string text = "\nrows: ";
  if (facts.reordered) {
    text += "ordered by similarity";
  } else if (how.options.expert.reorder_rows && how.refused_reuse > 0) {
    text += core::format("in their order (by similarity nnz/nnzc would be {:.2f})", how.refused_reuse);
  } else {
    text += "in their order";
  }
  return text + core::format(", {} {} row blocks: nnz/nnzc {:.2f}, was {:.2f} as given",
                             core::count_text(facts.num_row_blocks), to_string(facts.boundaries), facts.reuse,
                             facts.reuse_given);
}

/// The width of A's indices, where CSR needs 64 bits.
std::string explain_indices(const recipe& how) {
  const plan_facts& facts = how.facts;
  if (choice::index_bits_for(facts.rows, facts.cols, facts.nnz) == 32) return {};
  const bool streamed = how.kernel->form == kernels::operand_form::row_stream;
  return core::format("\nindices: {} bits{}", facts.kernel.index_bits,
                      streamed ? ", since a row stream counts pairs of non-zeros" : "");
}

std::string explain_layouts(const recipe& how, bool turns_c) {
  if (!how.packs_b() || how.options.cols == 1) return {};
  return core::format(
      "\nB: column-major, {}{}",
      how.reads_in_place(how.options.cols) ? "read where it lies" : "made row-major in the workspace first",
      turns_c ? "\nC: if column-major, made row-major in the workspace and turned at the end" : "");
}

std::string explain_roofline(const recipe& how, const roofline_model& model) {
  const double bandwidth = how.ctx.device().peak_bandwidth;
  if (bandwidth <= 0) return {};
  const double seconds = model.bytes / bandwidth;
  return core::format("\nroofline: {} at least from memory at its peak of {:.2f} TB/s: at most {:.0f} GFLOP/s",
                      core::time_text(seconds), bandwidth * 1e-12, model.flops / seconds * 1e-9);
}

}  // namespace

std::string explain(const recipe& how, bool turns_c) {
  const plan_facts& facts = how.facts;
  const std::int64_t n = how.options.cols;
  const roofline_model model = model_spmm(facts.rows, facts.cols, n, facts.nnz, facts.format_bytes, how.type);
  return core::format(
             "op(A): {} x {}, {} non-zeros, {}{}\n"
             "where: {}\n"
             "kernel: {} ({}, {}deterministic), tile {} x {}\n"
             "why: {}\n"
             "A is stored as: {}, {}{}",
             core::count_text(facts.rows), core::count_text(facts.cols), core::count_text(facts.nnz),
             to_string(how.type), how.options.transpose == op::transpose ? ", the transpose of what was given" : "",
             how.ctx.describe(), facts.kernel.name, facts.kernel.algorithm, facts.kernel.deterministic ? "" : "not ",
             facts.kernel.m_tile, facts.kernel.n_tile, facts.reason, explain_form(how),
             core::bytes_text(facts.format_bytes), facts.reblocked ? ", re-blocked from the height given" : "") +
         explain_rows(how) + explain_indices(how) + explain_layouts(how, turns_c) +
         core::format(
             "\nready after: {:.2f} ms (analysis, conversion{})\n"
             "N = {}: {:.3g} Gflop, at least {} moved, {:.2f} flop/byte",
             facts.convert_seconds * 1e3, how.on_gpu() ? ", upload" : "", n, model.flops * 1e-9,
             core::bytes_text(static_cast<std::int64_t>(model.bytes)), model.intensity()) +
         explain_roofline(how, model);
}

}  // namespace bcsc::plan
