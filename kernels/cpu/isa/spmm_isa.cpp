// The CPU's SpMM over BCSC. This file is compiled once for each instruction set (-DBCSC_ISA=<name>), all of it into
// that instruction set's namespace; no function of the standard library is called, since an inline one could be linked
// from the copy for a better machine.
//
// Ownership       C is cut into tiles of n_tile columns, and the row blocks of each tile into pieces of equal work (as
//                 many non-zeros), some for each thread, which helps the others when it is done: whole entries of C,
//                 summed in the order of storage, so the result depends neither on the number of threads nor on chance.
// rows, blocks    for one row or block after the other, in passes of as many vector registers as there are: the
//                 accumulators stay in registers while the non-zeros go by; a row of B serves all m_tile rows of C.
// rows, N = 1     the products of some hundred rows go to a scratch in L1 as they come, whatever row they belong to.
//                 Then as many rows as a vector has lanes are summed together.
// slices, N = 1   16 or 8 rows side by side, a lane of a vector each. Of their common diagonals B is loaded where it
//                 lies, for the rest it is gathered. A long row has all lanes. For N > 1 a slice is unpacked in L1 and
//                 multiplied like rows.
// columns         the tile of C lies in a scratch in L1; for each non-empty column a slice of the row of B is loaded
//                 into registers and added to the tile's rows of all its non-zeros. Also takes every m_block that
//                 rows and blocks are not made for.
// B not finite    only stored entries of A take part: a row without an entry in a column never meets its row of B.
//                 blocks multiplies by 0 there, and where a sum is not finite does the row block again like columns.
// fp16, bf16      rows alone: widened as they are loaded, summed in fp32, rounded once.
// scatter         C = alpha * A' * B + beta * C from the same A: each share of C, some of its rows and columns, is
//                 scaled and then added to by whatever of A reaches it, in the order of storage. No share needs
//                 another, so this depends on the number of threads as little as the others do.
// Bytes moved     A once for each n_tile columns of C, C once (past the caches when it is large), B as often as it
//                 falls out of them.
// Preconditions   a valid BCSC operand, rows > 0, n > 0; any alignment and strides.

#include <utility>

#include "kernels/cpu/all_tables.hpp"
#include "kernels/cpu/isa/narrow.hpp"
#include "kernels/cpu/isa/passes.hpp"
#include "kernels/cpu/isa/scatter.hpp"
#include "kernels/cpu/isa/shares.hpp"
#include "kernels/cpu/isa/slices.hpp"
#include "kernels/cpu/isa/vector.hpp"

namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

template <class T, class I>
void run_columns(const job<T, I>& work, int64_t m_tile, int64_t n_tile, const team& who) {
  for_each_share(work, n_tile, who, [=](const auto& own, int64_t first, int64_t last, int64_t from, int64_t to) {
    share_in_scratch(own, m_tile, first, last, from, to);
  });
}

/// rows and blocks; a matrix of another m_block goes the way of columns, in tiles of a width that leaves room for rows.
template <int Rows, class T, class I>
void run_registers(const job<T, I>& work, int64_t n_tile, gathering how, const team& who) {
  if (work.a.m_block != Rows) {
    const int64_t columns = least(n_tile, 64);
    run_columns(work, scratch_bytes / static_cast<int64_t>(sizeof(T)) / columns, columns, who);
    return;
  }
  for_each_share(work, n_tile, who, [=](const auto& own, int64_t first, int64_t last, int64_t from, int64_t to) {
    if constexpr (Rows == 1) {
      if (own.n == 1) return share_of_vector(own, how, first, last);
      if (own.out.col_stride == 1) return share_of_contiguous(own, first, last, from, to);
    }
    share_in_registers<Rows>(own, first, last, from, to);
  });
}

template <value_type Type>
struct type_of {
  using type = float;
};
template <>
struct type_of<value_type::fp64> {
  using type = double;
};
template <>
struct type_of<value_type::fp16> {
  using type = half;
};
template <>
struct type_of<value_type::bf16> {
  using type = bfloat16;
};
template <int Bits>
struct index_of {
  using type = std::int32_t;
};
template <>
struct index_of<64> {
  using type = std::int64_t;
};

inline gathering gathering_of(const launch_env& env) {
  return env.fast_gather ? gathering::at_once : gathering::one_by_one;
}

/// Of compact BCSC.
template <class Algorithm, std::size_t Index>
int launch_compact(const void* args, const launch_env& env) {
  constexpr auto config = Algorithm::configs[Index];
  using T = typename type_of<config.type>::type;
  using I = typename index_of<config.index_bits>::type;
  job<T, I> work(*static_cast<const spmm_args<T, I>*>(args), env.who);
  constexpr bool scatters = __is_same(Algorithm, tables::cpu_scatter);
  if constexpr (scatters) work.out.row_of = nullptr;  // of a row of A it says the row of B
  if (work.out.alpha == 0) {
    scale(work.out, scatters ? work.a.cols : work.a.rows, work.n, env.who);
  } else if constexpr (scatters) {
    run_scatter(work, config.n_tile, env.who);
  } else if constexpr (narrow_number<T>) {
    run_narrow(work, config.n_tile, env.who);
  } else if constexpr (__is_same(Algorithm, tables::cpu_columns)) {
    run_columns(work, config.m_tile, config.n_tile, env.who);
  } else {
    run_registers<config.m_tile>(work, config.n_tile, gathering_of(env), env.who);
  }
  return 0;
}

/// A launch_fn for Algorithm::configs[Index].
template <class Algorithm, std::size_t Index>
int launch(const void* args, const launch_env& env) {
  constexpr auto config = Algorithm::configs[Index];
  using T = typename type_of<config.type>::type;
  if constexpr (__is_same(Algorithm, tables::cpu_slices)) {
    const auto& product = *static_cast<const row_slices_args<T>*>(args);
    const auto out = target_of<T>(product, product.a.row_of);
    if (out.alpha == 0) {
      scale(out, product.a.rows, product.n, env.who);
    } else {
      run_slices(product, out, config.n_tile, gathering_of(env), env.who);
    }
    return 0;
  } else {
    return launch_compact<Algorithm, Index>(args, env);
  }
}

template <class Algorithm, class = decltype(std::make_index_sequence<Algorithm::configs.size()>{})>
struct launchers;
template <class Algorithm, std::size_t... Indices>
struct launchers<Algorithm, std::index_sequence<Indices...>> {
  static constexpr launch_fn of_config[] = {&launch<Algorithm, Indices>...};
};

template <class... Tables>
launch_fn find_launcher(std::size_t table, std::size_t config, tables::table_list<Tables...>) {
  constexpr const launch_fn* of_table[] = {launchers<Tables>::of_config...};
  return of_table[table][config];
}

}  // namespace

launch_fn launcher(std::size_t table, std::size_t config) { return find_launcher(table, config, all_tables{}); }

}  // namespace bcsc::kernels::cpu::BCSC_ISA
