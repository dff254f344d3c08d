"""The faults that tools/mutants plants: what a slip of the pen would leave behind, in one line each. The old text stands
exactly once in its file; the tests named are the executables that must catch it.
"""
import dataclasses

READER = ("matrix_market_test", "malformed_matrix_market_test")
FORMATS = ("formats_test",)
CONVERT = ("formats_test", "formats_roundtrip_test", "convert_property_test")
ANY = ("formats_roundtrip_test", "convert_property_test", "sizes_test")
ELEMENTS = ("elements_test",)
VALUES = ("values_test",)
CLI_SAFETY = ("cli_safety_test",)
SYMMETRIC = ("symmetric_test",)
REFERENCE = ("reference_test",)
ANALYSIS = ("analysis_test", "plan_guards_test")
CPU_KERNELS = ("cpu_kernels_test", "kernels_test")
KERNELS = ("kernels_test", "plan_cuda_test")
PLAN = ("plan_guards_test", "plan_test")
CHOICE = ("choice_test", "plan_guards_test")
VECTOR = ("vector_ops_test",)
CREW = ("crew_test",)
TEAM = ("team_test",)
CG = ("cg_test",)
AMG = ("amg_test",)
BLOCK_OPS = ("block_ops_test",)
CG_METHODS = ("cg_methods_test",)
TUNED = ("tuned_plan_test",)
ROW_ROUNDING = ("row_rounding_test",)
CAPI_CG = ("capi_cg_test", "capi_cg_refusals_test")
CAPI_PRECONDITIONERS = ("capi_preconditioners_test",)
LOBPCG = ("lobpcg_test", "lobpcg_solve_test")
SMALL_DENSE = ("small_dense_test",)
PLAN_CUDA = ("plan_cuda_test",)
UPDATE_CUDA = ("update_values_cuda_test",)
WORKSPACE_CUDA = ("workspace_cuda_test",)
DEVICE_CHECKS = ("device_checks_test",)
GENERATE = ("generate_test",)
CATALOGUE = ("catalogue_test",)
EMULATED_WARP = ("emulated_warp_test",)
EMULATED_TILED = ("emulated_tiled_test",)
EMULATED_ROWWISE = ("emulated_rowwise_test",)
EMULATED_BRICKWISE = ("emulated_brickwise_test",)
EMULATED_SLICED = ("emulated_sliced_test",)
EMULATED_FMA = ("emulated_fma_test",)
EMULATED_MMA = ("emulated_mma_test",)
EMULATED_STAGED = ("emulated_staged_test",)
EMULATED_WGMMA = ("emulated_wgmma_test",)
EMULATED_SLIDING = ("emulated_sliding_test",)
EMULATED_SCATTER = ("emulated_scatter_test",)
EMULATED_GEMM = ("emulated_gemm_test",)
EMULATED_GPU = ("emulated_gpu_test",)
EMULATED_BRICKS = ("emulated_bricks_test",)
EMULATED_VECTOR = ("emulated_vector_ops_test",)
EMULATED_BLOCK_OPS = ("emulated_block_ops_test",)

LINES = "converters/files/matrix_market_lines.hpp"
HEADER = "converters/files/matrix_market_header.cpp"
PATTERN = "converters/files/pattern_values.hpp"
EXPANSION = "converters/files/expansion.hpp"
WRITING = "converters/files/writing.hpp"
PATTERN_HASH = "converters/formats/pattern_hash.hpp"
STORED_ROW_STREAM = "kernels/forms/row_stream/stored.cpp"
BRICK_CUT = "kernels/forms/bricks/cut.hpp"
BRICK_KERNELS = "kernels/forms/bricks/bricks_kernels.cuh"
GRID_CPP = "converters/formats/grid.cpp"
GRID_HPP = "converters/formats/grid.hpp"
READ_CPP = "converters/files/matrix_market_read.cpp"
WRITE_CPP = "converters/files/matrix_market_write.cpp"
ASSEMBLY = "converters/files/coo_assembly.hpp"
NUMBERS = "converters/files/numbers.hpp"
SOURCE = "converters/files/source.cpp"
CONSTRUCT = "converters/formats/construct.cpp"
STRUCTURE = "converters/formats/structure.hpp"
VALIDATE = "converters/formats/validate.cpp"
CONVERT_CPP = "converters/formats/convert.cpp"
BLOCK_COLUMNS = "converters/formats/block_columns.hpp"
PADDED = "converters/formats/padded.hpp"
ELL = "converters/formats/ell.cpp"
DENSE = "converters/formats/dense.cpp"
COMPACT = "converters/formats/compact.cpp"
ANY_CPP = "converters/formats/any_matrix.cpp"
NARROWING = "converters/formats/narrowing.hpp"
VALUES_CPP = "converters/formats/values.cpp"
NEW_FILE = "core/new_file.cpp"
SYMMETRIC_CPP = "converters/formats/symmetric.cpp"
ELEMENTS_HPP = "include/bcsc/elements.hpp"
FOOTPRINT = "converters/formats/footprint.cpp"
ANALYSIS_CPP = "converters/formats/analysis.cpp"
COLUMN_COUNTS = "converters/formats/column_counts.hpp"
DEVICE = "converters/formats/device_steps.cu"
REFERENCE_CPP = "kernels/cpu/reference.cpp"
PACK_CPU = "kernels/cpu/pack.cpp"
CPU_BLOCKS = "kernels/cpu/isa/blocks.hpp"
CPU_COLUMNS = "kernels/cpu/isa/columns.hpp"
CPU_JOB = "kernels/cpu/isa/job.hpp"
CPU_LANES = "kernels/cpu/isa/lanes.hpp"
CPU_ROWS = "kernels/cpu/isa/rows.hpp"
CPU_SCATTER = "kernels/cpu/isa/scatter.hpp"
CPU_SHARES = "kernels/cpu/isa/shares.hpp"
CREW_CPP = "core/crew.cpp"
BY_ALL = "core/by_all.hpp"
CPU_SLICES = "kernels/cpu/isa/slices.hpp"
CHECKS = "lib/plan/run_checks.cpp"
PLAN_BODY = "lib/plan/body.cpp"
PLAN_CPP = "lib/plan/plan.cpp"
COST_TERMS = "lib/choice/cost_terms.hpp"
BUILDER = "lib/plan/builder.cpp"
EXECUTOR = "lib/plan/executor.cpp"
EXECUTOR_HPP = "lib/plan/executor.hpp"
WORKSPACE_CPP = "lib/plan/workspace.cpp"
CHOICE_CPP = "lib/choice/choice.cpp"
GPU_CUDA = "core/gpu_cuda.cpp"
GPU_ASSESS = "core/gpu_assess.cpp"
CG_CPP = "lib/solvers/cg.cpp"
CAPI_GUARD = "lib/capi/guard.hpp"
CAPI_SOLVERS = "lib/capi/solvers.cpp"
CAPI_PRECONDITIONERS_CPP = "lib/capi/preconditioners.cpp"
CG_PARTS = "lib/solvers/cg_parts.cpp"
SIMULTANEOUS_CG = "lib/solvers/simultaneous_cg.cpp"
LOBPCG_BASIS = "lib/solvers/lobpcg_basis.cpp"
LOBPCG_ITERATION = "lib/solvers/lobpcg_iteration.cpp"
RAYLEIGH_RITZ = "lib/solvers/rayleigh_ritz.cpp"
SMALL_DENSE_CPP = "lib/solvers/small_dense.cpp"
DENSE_PENCIL = "lib/solvers/dense_pencil.cpp"
STEPS = "kernels/vector/column_steps.hpp"
VECTOR_CPU = "kernels/vector/vector_cpu.cpp"
BLOCK_CPU = "kernels/vector/block_cpu.cpp"
ROWS_ISA = "kernels/vector/isa/rows_isa.cpp"
VECTOR_CUDA = "kernels/vector/vector_cuda.cu"
ADVANCE = "kernels/vector/advance.cuh"
RECOMBINE = "kernels/vector/recombine.cuh"
ROW_DOTS = "kernels/cuda/row_stream/dots.cuh"
MMA_DOTS = "kernels/cuda/mma/dots.cuh"
NAIVE = "kernels/cuda/naive.cuh"
WARP = "kernels/cuda/warp.cuh"
TILED = "kernels/cuda/tiled.cuh"
TILE = "kernels/cuda/tile.cuh"
PACK = "kernels/cuda/pack.cu"
ROWWISE = "kernels/cuda/rowwise.cuh"
BRICKWISE = "kernels/cuda/brickwise.cuh"
SLIDING = "kernels/cuda/sliding.cuh"
SLIDING_PRODUCER = "kernels/cuda/sliding/producer.cuh"
SLIDING_WINDOW = "kernels/cuda/sliding/window.cuh"
SLIDING_MULTIPLY = "kernels/cuda/sliding/multiply.cuh"
MMA_EPILOGUE = "kernels/cuda/mma/epilogue.cuh"
SHARES = "lib/choice/shares.cpp"
BRICKWISE_COPIES = "kernels/cuda/brickwise/copies.cuh"
PARTIALS = "kernels/cuda/row_stream/partials.cuh"
ROW_EPILOGUE = "kernels/cuda/row_stream/epilogue.cuh"
SLICED = "kernels/cuda/sliced.cuh"
SLICED_CUT = "kernels/cuda/block_slices/cut.cuh"
SLICED_DOTS = "kernels/cuda/block_slices/dots.cuh"
SLICED_HELD = "kernels/cuda/block_slices/held_slice.cuh"
BLOCK_SLICES = "kernels/forms/block_slices/block_slices.cpp"
BLOCK_SLICES_KERNELS = "kernels/forms/block_slices/block_slices_kernels.cuh"
MMA = "kernels/cuda/mma.cuh"
MMA_SOURCE = "kernels/cuda/mma/source.cuh"
MMA_EPILOGUE = "kernels/cuda/mma/epilogue.cuh"
MMA_SUM = "kernels/cuda/mma/sum_pieces.cuh"
MMA_STORED = "kernels/cuda/mma/stored_entries.cuh"
FINITE = "kernels/cuda/finite.cuh"
FMA = "kernels/cuda/fma.cuh"
FMA_RING = "kernels/cuda/fma/tile_ring.cuh"
FMA_MULTIPLY = "kernels/cuda/fma/multiply.cuh"
FMA_TILES = "kernels/forms/fma_tiles/fma_tiles.cpp"
FMA_TILES_KERNELS = "kernels/forms/fma_tiles/fma_tiles_kernels.cuh"
GEMM = "kernels/cuda/gemm.cuh"
GEMM_HALVES = "kernels/cuda/gemm_halves.cuh"
DENSE_HALVES = "kernels/forms/dense/halves.cuh"
DENSE_KERNELS = "kernels/forms/dense/dense_kernels.cuh"
STAGED = "kernels/cuda/staged.cuh"
STAGED_COPIES = "kernels/cuda/staged/copies.cuh"
STAGED_MULTIPLY = "kernels/cuda/staged/multiply.cuh"
WGMMA = "kernels/cuda/wgmma.cuh"
WGMMA_PRODUCER = "kernels/cuda/wgmma/producer.cuh"
VECTORS = "kernels/cuda/vectors.cuh"
COLUMN_GROUPS = "kernels/forms/column_groups.cuh"
MMA_TILES = "kernels/forms/mma_tiles/mma_tiles.cpp"
MMA_TILES_KERNELS = "kernels/forms/mma_tiles/mma_tiles_kernels.cuh"
ROW_SLICES = "kernels/forms/row_slices/row_slices.cpp"
HOST_BLOCK = "lib/solvers/host_block.hpp"
SCATTER = "kernels/cuda/scatter.cuh"
EMULATOR = "test/emulation/emulated_gpu.cpp"


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    in_cuda_tables: bool = False  # seen only where the tables of the GPU kernels are compiled in

    @property
    def on_cuda(self) -> bool:
        """Whether it takes a GPU to judge it: the emulated tests run kernels without one."""
        emulated = all(test.startswith("emulated_") for test in self.tests)
        on_gpu = all(test.endswith("_cuda_test") for test in self.tests)
        in_kernels = self.file.startswith("kernels/cuda/") or self.file.endswith((".cu", ".cuh"))
        return self.in_cuda_tables or (not emulated and (on_gpu or in_kernels))


MUTANTS = [
    # --- Reading and writing files ---
    Mutant("read-index-base", LINES, "return one_based - 1;", "return one_based;", READER),
    Mutant("read-index-zero", LINES, "if (one_based < 1 || one_based > size) {",
           "if (one_based < 0 || one_based > size) {", READER),
    Mutant("read-index-beyond", LINES, "if (one_based < 1 || one_based > size) {",
           "if (one_based < 1 || one_based > size + 1) {", READER),
    Mutant("read-symmetric-array-count", HEADER, "below_diagonal : below_diagonal + info.rows;",
           "below_diagonal : below_diagonal;", READER),
    Mutant("read-skew-array-diagonal", READ_CPP, "row = half ? col + below_diagonal : 0;",
           "row = half ? col : 0;", READER),
    Mutant("read-both-triangles", LINES, "if ((triangles_ | mine) == (lower | upper)) {",
           "if ((triangles_ | mine) == no_triangle) {", READER),
    Mutant("read-skew-diagonal", LINES, "file_symmetry::skew_symmetric && (entry.value != T{0} || imaginary != T{0})",
           "file_symmetry::skew_symmetric && imaginary != T{0}", READER),
    Mutant("read-comments", LINES, "at.front() == '%'", "at.front() == '#'", READER),
    Mutant("read-not-square", HEADER, "if (info.symmetry != file_symmetry::general && info.rows != info.cols) {",
           "if (info.symmetry == file_symmetry::skew_symmetric && info.rows != info.cols) {", READER),
    Mutant("read-line-past-end", HEADER, ".line = lines.number() + 1}", ".line = lines.number()}", READER),
    Mutant("read-sizes-fit", READ_CPP, "if (std::max(info.rows, info.cols) > std::numeric_limits<I>::max()) {",
           "if (std::min(info.rows, info.cols) > std::numeric_limits<I>::max()) {", READER),
    Mutant("read-pattern-sign", PATTERN, "return (bits & 1) != 0 ? -magnitude : magnitude;",
           "return magnitude;", READER),
    Mutant("assemble-diagonal-twin", ASSEMBLY, "if (twins && row != col) place", "if (twins) place", READER),
    Mutant("assemble-skew-sign", ASSEMBLY, "file_symmetry::skew_symmetric ? T{-1} : T{1}",
           "file_symmetry::skew_symmetric ? T{1} : T{1}", READER),
    Mutant("assemble-duplicates", ASSEMBLY, "sum += values[k];", "sum = values[k];", READER),
    Mutant("assemble-order-of-columns", ASSEMBLY, "return std::pair(x.row, x.col) < std::pair(y.row, y.col);",
           "return x.row < y.row;", READER),
    Mutant("number-fortran-exponent", NUMBERS, "(*next == 'D' || *next == 'd')", "*next == 'D'", READER),
    Mutant("number-underflow", NUMBERS, "return exponent < leading - point;", "return exponent > leading - point;",
           READER),
    Mutant("number-integer-overflow", NUMBERS, "std::numeric_limits<std::int64_t>::digits10;",
           "std::numeric_limits<std::int64_t>::digits10 + 2;", READER),
    Mutant("gzip-bomb-size", EXPANSION, "if (more > options.max_expanded_bytes - expanded_) {",
           "if (more < 0) {", READER),
    Mutant("gzip-bomb-ratio", SOURCE, "options_.max_expansion_ratio * static_cast<double>(stored)) {",
           "options_.max_expansion_ratio * 1e9 * static_cast<double>(stored)) {", READER),
    Mutant("gzip-second-member", SOURCE, "if (stream_.avail_in == 0) return false;",
           "if (stream_.avail_in == 0 || !inside_gzip_) return false;", READER),
    Mutant("gzip-truncated", SOURCE, 'fail_at(here(), errc::truncated, "the compressed stream ends too early");',
           "break;", READER),
    Mutant("read-shortened-file", SOURCE, "if (stored_read_ < stored_bytes_) {", "if (stored_read_ < 0) {",
           ("changed_file_test",)),
    Mutant("read-written-file", SOURCE, "if (is_longer || is_rewritten) {", "if (is_longer) {",
           ("changed_file_test",)),
    Mutant("read-beyond-memory", SOURCE, "if (more <= available) return;", "if (held <= available) return;",
           ("memory_test",)),
    Mutant("memory-of-outer-groups", "core/memory.cpp", "group = group.parent_path();", "return least;",
           ("memory_test",)),
    Mutant("container-not-mapped", "converters/files/container_read.cpp",
           "map ? in.mapped_content() : in.content();", "in.mapped_content();", ("changed_file_test",)),
    Mutant("scan-short-real", "converters/files/scan_line.hpp", "if (!nearest(number, -16, value)) return false;",
           "if (!nearest(number, -15, value)) return false;", READER),
    Mutant("write-column-base", WRITE_CPP, "out.put_number(col + 1);", "out.put_number(col);", READER),
    Mutant("write-symmetric-diagonal", WRITE_CPP, "|| col <= row) visit(", "|| col < row) visit(", READER),
    Mutant("write-skew-check", WRITING, "? twin == value : twin == -value;",
           "? twin == value : twin == value;", READER),

    # --- Formats: construction and conversion ---
    Mutant("check-index-range", VALIDATE, "ind[at(k)] < 0 || ind[at(k)] >= size;",
           "ind[at(k)] < 0 || ind[at(k)] > size;", FORMATS),
    Mutant("check-falling-pointers", VALIDATE,
           "return strict ? ptr[at(i) + 1] <= ptr[at(i)] : ptr[at(i) + 1] < ptr[at(i)];",
           "return strict && ptr[at(i) + 1] <= ptr[at(i)];", FORMATS),
    Mutant("check-order-duplicates", STRUCTURE, "if (ind[core::at(k)] <= ind[core::at(k) - 1]) return false;",
           "if (ind[core::at(k)] < ind[core::at(k) - 1]) return false;", FORMATS),
    Mutant("check-bcsc-row-block", VALIDATE, "return row_in_block < 0 || row_in_block >= a.m_block;",
           "return row_in_block < 0;", FORMATS),
    Mutant("check-bsr-padding", VALIDATE, "if (!is_zero_element(value)) {", "if (value != value) {", FORMATS),
    Mutant("sum-csr-duplicates", CONSTRUCT, "values[kept - 1] += own[at(from)];", "values[kept - 1] = own[at(from)];",
           FORMATS),
    Mutant("sum-coo-duplicates", CONSTRUCT, "values[kept - 1] += e.value;", "values[kept - 1] -= e.value;", FORMATS),
    Mutant("sum-bsr-duplicates", CONSTRUCT, "return static_cast<T>(sum + more); }", "(void)more; return sum; }",
           FORMATS),
    Mutant("footprint-bcsc", FOOTPRINT, ".indices(nnzc)\n      .indices(nnzc)\n", ".indices(nnzc)\n", FORMATS),
    Mutant("bcsc-global-row", CONVERT_CPP, "row_ind[at(to)] = static_cast<I>(first_row + row);",
           "row_ind[at(to)] = static_cast<I>(row);", CONVERT),
    Mutant("bcsc-values-cursor", CONVERT_CPP, "a.values[at(scratch.next[at(row)]++)];",
           "a.values[at(scratch.next[at(row)])];", CONVERT),
    Mutant("bcsc-neighbour-columns", CONVERT_CPP, "if (col != former) {", "if (to == begin || col > former + 1) {",
           CONVERT),
    Mutant("bcsc-least-column", BLOCK_COLUMNS, "static_cast<std::int64_t>(key >> row_bits) + min_col}",
           "static_cast<std::int64_t>(key >> row_bits)}", CONVERT),
    Mutant("bcsc-radix-digit", BLOCK_COLUMNS, "const int shift = row_bits + digit * width;",
           "const int shift = digit * width;", CONVERT),
    Mutant("bcsc-to-csr-column", CONVERT_CPP, "col_ind[at(to)] = a.col_ind[at(j)];",
           "col_ind[at(to)] = static_cast<I>(j);", CONVERT),
    Mutant("transpose-index", CONVERT_CPP, "out.ind[at(to)] = static_cast<I>(i);",
           "out.ind[at(to)] = static_cast<I>(to);", CONVERT),
    Mutant("padded-zeros-kept", PADDED, "if (is_zero_element(value)) return;", "", CONVERT),
    Mutant("padded-blocks-unsorted", PADDED, "std::sort(blocks.begin() + start, blocks.end());", "", CONVERT),
    Mutant("bsr-ragged-width", CONVERT_CPP, "const std::int64_t width = std::min(a.col_block, a.cols - first_col);",
           "const std::int64_t width = a.col_block;", CONVERT),
    Mutant("bsr-inner-stride", CONVERT_CPP, "row % row_block * col_block + col % col_block",
           "row % row_block * row_block + col % col_block", CONVERT),
    Mutant("ell-slot", ELL, "row * shape.width + (found - begin) * block + col % block",
           "row * shape.width + (found - begin) + col % block", CONVERT),
    Mutant("ell-filler", ELL, "slots + blocks_per_row, I{-1});", "slots + blocks_per_row, I{0});", FORMATS),
    Mutant("ell-fullest-row", ELL, "blocks_per_row = std::max<std::int64_t>(blocks_per_row,",
           "blocks_per_row = std::max<std::int64_t>(blocks_per_row + 1,", CONVERT),
    Mutant("check-ell-filler-values", ELL, "col < 0 || row >= a.rows ? 0 :", "row >= a.rows ? 0 :", FORMATS),
    Mutant("check-ell-behind-filler", ELL, "filling = true;", "", FORMATS),
    Mutant("dense-order", DENSE, "if (a.order == layout::row_major) {", "if (a.order == layout::col_major && false) {",
           ("no test can tell: both orders give the same",)),
    Mutant("dense-columns", DENSE, "for (std::int64_t col = 0; col < a.cols; ++col) use(row, col, a(row, col));",
           "for (std::int64_t col = 1; col < a.cols; ++col) use(row, col, a(row, col));", CONVERT),
    Mutant("compact-dense-first", COMPACT, "count(j) >= dense_from", "count(j) > dense_from", CONVERT),
    Mutant("compact-merge", COMPACT, "a.column(dense) < a.column(sparse));", "a.column(dense) <= a.column(dense));",
           CONVERT),
    Mutant("any-index-width", ANY_CPP, "size <= std::numeric_limits<std::int32_t>::max()",
           "size <= std::int64_t{1} + std::numeric_limits<std::int32_t>::max()", ANY),
    Mutant("any-transposed-csc", ANY_CPP, "source.format() == matrix_format::csc;",
           "source.format() != matrix_format::csc;", ANY),
    Mutant("any-keeps-m-block", ANY_CPP, "return a.m_block == options.blocks.m_block;", "return true;", ANY),
    Mutant("narrowing-takes-overflow", NARROWING, "if (policy == overflow_policy::refuse)", "if (false)", VALUES),
    Mutant("narrowing-clamps-nothing", NARROWING, "if (policy == overflow_policy::clamp)", "if (false)", VALUES),
    Mutant("narrowing-row", NARROWING, "behind - a.row_ptr.begin() - 1,", "behind - a.row_ptr.begin(),", VALUES),
    Mutant("values-last-piece", VALUES_CPP, "for (const Statistics& part : parts) merge(all, part);",
           "merge(all, parts.front());", VALUES),
    Mutant("new-file-leaves-its-temporary", NEW_FILE, "if (!temporary_.empty()) fs::remove(temporary_, ignored);",
           "(void)ignored;", CLI_SAFETY),
    Mutant("symmetric-diagonal-twice", SYMMETRIC_CPP, "++entries.first;", "", SYMMETRIC),
    Mutant("symmetric-skew-sign", SYMMETRIC_CPP, "return -value;", "return value;", SYMMETRIC),
    Mutant("half-ties", ELEMENTS_HPP, "(rest == half && (kept & 1u) != 0)", "rest == half", ELEMENTS),
    Mutant("half-double-rounding", ELEMENTS_HPP, "float16(to_odd(value))", "float16(static_cast<float>(value))", ELEMENTS),
    Mutant("half-integer-rounding", ELEMENTS_HPP, "magnitude >> 1 | (magnitude & 1)", "magnitude >> 1", ELEMENTS),
    Mutant("half-subnormal-limit", ELEMENTS_HPP, "if (shift > 24)", "if (shift > 23)", ELEMENTS),

    Mutant("analysis-nnzc", ANALYSIS_CPP, "of_block += seen != mark;", "++of_block;", ANALYSIS),
    Mutant("analysis-most-columns", COLUMN_COUNTS, "std::max(x.most, y.most)", "y.most", ANALYSIS),
    Mutant("analysis-empty-rows", ANALYSIS_CPP, "facts.empty_rows += count == 0;", "facts.empty_rows += count <= 1;",
           ANALYSIS),
    Mutant("analysis-diagonal", ANALYSIS_CPP, "if (found == end || *found != row || !(", "if (found == end || !(",
           ANALYSIS),

    # --- CPU kernels ---
    Mutant("cpu-beta", CPU_JOB, "multiply_add(out.beta, partial ?", "multiply_add(T{1}, partial ?", CPU_KERNELS),
    Mutant("cpu-adds-c-for-z", CPU_JOB, "return element + z_offset;", "return element;", CPU_KERNELS),
    Mutant("cpu-row-remainder", CPU_ROWS, "load(at, edge) : load<Bytes>(at), partial[0][v]);",
           "load(at, edge) : load<Bytes>(at), vec<T, Bytes>{});", CPU_KERNELS),
    Mutant("cpu-row-chains", CPU_ROWS, "for (int u = 1; u < chains; ++u) sum[v]", "for (int u = 2; u < chains; ++u) sum[v]",
           CPU_KERNELS),
    Mutant("cpu-block-expand", CPU_BLOCKS, "expanded[rows[first + r]] = a.values[first + r];",
           "expanded[r] = a.values[first + r];", CPU_KERNELS),
    Mutant("cpu-scratch-add", CPU_COLUMNS, "store(at, multiply_add(value, b_part[v], load<Bytes>(at)));",
           "store(at, value * b_part[v]);", CPU_KERNELS),
    Mutant("crew-part-done-twice", CREW_CPP, "      if (!own.claim(number)) continue;\n", "      own.claim(number);\n",
           CREW),
    Mutant("crew-not-waited-for", CREW_CPP, "  all.wait_for_all(number);\n", "", CREW),
    Mutant("crew-late-part-left", CREW_CPP, "  all.do_what_is_late(number);\n", "", CREW),
    Mutant("crew-never-woken", CREW_CPP, "    if (asleep.count != 0) round.number.notify_all();\n", "", CREW),
    Mutant("crew-in-a-forked-process", CREW_CPP, "  if (member || all.left_behind()) {", "  if (member) {", CREW),
    Mutant("crew-within-a-crew", CREW_CPP, "  if (member || all.left_behind()) {", "  if (all.left_behind()) {", CREW),
    Mutant("crew-takes-signals", CREW_CPP, "    const signals_blocked in_threads;\n", "", CREW),
    Mutant("crew-callers-at-once", CREW_CPP, "  const std::lock_guard lock(all.turn);\n", "", CREW),
    Mutant("for-each-last", BY_ALL, "i < n * (thread + 1) / threads; ++i", "i < n * thread / threads + n / threads; ++i", TEAM),
    Mutant("cpu-last-column", CPU_SHARES, "to = least(from + tile_columns, work.n);",
           "to = least(from + tile_columns, work.n - 1);", CPU_KERNELS),
    Mutant("cpu-alpha-zero-reads-c", CPU_SCATTER,
           "out.at(first, from + line);\n"
           "    const T* const z = out.addend_of(c);\n"
           "    for (int64_t i = 0; i < length; ++i) c[i * stride] = out.beta != T{0} ? out.beta * z[i * stride] : T{0};",
           "out.at(first, from + line);\n"
           "    const T* const z = out.addend_of(c);\n"
           "    for (int64_t i = 0; i < length; ++i) c[i * stride] = out.beta * z[i * stride];",
           CPU_KERNELS),
    Mutant("cpu-beta-zero-reads-c", CPU_JOB,
           "const T sum = out.alpha * tile[i * ld + j];\n      c = out.beta != T{0} ? multiply_add(out.beta, *out.addend_of(&c), sum) : sum;",
           "const T sum = out.alpha * tile[i * ld + j];\n      c = multiply_add(out.beta, *out.addend_of(&c), sum);",
           CPU_KERNELS),
    Mutant("cpu-fused-in-one-width", CPU_LANES, "return _mm256_fmadd_ps(a, b, c);", "return a * b + c;",
           ("cpu_scatter_test",)),
    Mutant("cpu-fused-but-alone", CPU_LANES, "return __builtin_fma(a, b, c);", "return a * b + c;", ("cpu_scatter_test",)),
    Mutant("cpu-never-contaminated", CPU_BLOCKS, "  return found;", "  return false;",
           ("cpu_nonfinite_test",)),
    Mutant("cpu-looks-at-some-vectors", CPU_BLOCKS, "v + 1 < Vectors; v += 2)", "v + 1 < Vectors; v += 4)",
           ("cpu_nonfinite_test",)),
    Mutant("cpu-group-half-done", CPU_BLOCKS, "return contiguous ? block : first_block;", "return block;",
           ("cpu_nonfinite_test",)),
    Mutant("cpu-slices-unmasked", CPU_SLICES, "b, to[v], mask >> v * width<T>);", "b, to[v], mask | 0xffffU);",
           ("cpu_nonfinite_test",)),
    Mutant("cpu-empty-row-drops-c", CPU_ROWS, "out.beta == T{0} && out.streamed == 0;", "out.streamed == 0;",
           ("cpu_empty_rows_test",)),
    Mutant("cpu-empty-row-is-zero", CPU_ROWS, "of_nothing = out.alpha * vec<T, Bytes>{};", "of_nothing{};",
           ("cpu_empty_rows_test",)),
    Mutant("cpu-slices-long-row-anew", CPU_SLICES, "by = {T{1}, 0};  // what follows is added", "",
           ("row_slices_test",)),
    Mutant("cpu-slices-listed-anew", CPU_SLICES,
           "if (out.beta != T{0}) result = multiply_add(out.beta, gather_pairs(out.addend_of(out.c), rows), result);", "",
           ("row_slices_test",)),
    Mutant("plan-shares-another-order", PLAN_BODY, "!how.unequal_rows || how.gains", "how.unequal_rows || how.gains",
           ("choice_test",)),
    Mutant("cpu-choice-ignores-cut-lines", COST_TERMS, "constexpr double lines_of_a_meeting = 4;",
           "constexpr double lines_of_a_meeting = 0;", ("choice_test",)),
    Mutant("cpu-slices-pad-short-rows", ROW_SLICES, "const std::size_t num_alone = num_better_alone(a, others);",
           "const std::size_t num_alone = 0;", ("row_slices_test",)),
    Mutant("cpu-slices-lose-gaps", ROW_SLICES, "step += next[at(lane)]++;", "step += next[at(lane)];",
           ("row_slices_test",)),

    Mutant("cpu-pack-stride", PACK_CPU, "packed[k * ld_packed + j]", "packed[k * cols + j]", CPU_KERNELS + PLAN),
    Mutant("reference-beta-zero", REFERENCE_CPP, "beta == 0 ? sum_type{0} : beta * static_cast<sum_type>(c(i, j));",
           "beta * static_cast<sum_type>(c(i, j));", REFERENCE),
    Mutant("reference-add", REFERENCE_CPP, "sums(row, j) += factor * static_cast<S>(b(col, j));",
           "sums(row, j) = factor * static_cast<S>(b(col, j));", REFERENCE),

    # --- Plan ---
    Mutant("plan-overlap", CHECKS, "return offset < width_b || offset + width_c > b.ld;", "return offset < width_b;",
           PLAN),
    Mutant("plan-leading-dimension", CHECKS, "if (x.ld < least) {", "if (x.ld < least - 1) {", PLAN),
    Mutant("plan-shapes", CHECKS, "if (b.rows != inner || c.rows != rows || b.cols != c.cols) {",
           "if (b.rows != inner || c.rows != rows) {", PLAN),
    Mutant("plan-layout", CHECKS, "if (b.order != planned_b_layout) {",
           "if (b.order == layout::col_major && planned_b_layout == layout::row_major) {", PLAN),
    Mutant("plan-slab-of-b", EXECUTOR, "pack(how_, b_first + j * b.ld, ", "pack(how_, b_first + j, ", PLAN),
    Mutant("plan-adds-c-for-z", EXECUTOR, "forms::elements_between<T>(c.data, extras.z)", "0", CPU_KERNELS),
    Mutant("plan-slab-of-c", EXECUTOR, "(c.data + j * c.col_stride(), c.rows, width",
           "(c.data + j * c.ld, c.rows, width", PLAN),
    Mutant("plan-transpose", BUILDER, "if (how_.options.transpose == op::transpose) {", "if (false) {", PLAN),
    Mutant("plan-other-pattern", PATTERN_HASH, "return word_of(col_ind, nnz, i - words(rows + 1));", "return 0;", PLAN),
    Mutant("plan-update-forgotten", EXECUTOR_HPP, "a_.swap(renewed);", "(void)renewed;", PLAN),
    Mutant("plan-update-under-a-run", EXECUTOR_HPP,
           "    const std::shared_lock reading(updating_);\n    use(*a_);", "    use(*a_);",
           ("plan_guards_test",)),
    Mutant("plan-update-frees-at-once", GPU_CUDA, "if (!in_order) status = cudaDeviceSynchronize();", "",
           UPDATE_CUDA),
    Mutant("plan-moved-from", PLAN_CPP,
           "if (body_ == nullptr) {\n    core::fail(errc::invalid_argument, \"spmm_plan",
           "if (false) {\n    core::fail(errc::invalid_argument, \"spmm_plan", ("handles_test",)),
    Mutant("plan-workspace-moves-at-once", WORKSPACE_CPP,
           "!(run.move_workspace && core::gpu::is_idle(own.stream_))", "!run.move_workspace",
           WORKSPACE_CUDA),
    Mutant("plan-workspace-ends-a-capture", GPU_CUDA,
           "if (status == cudaSuccess && capture == cudaStreamCaptureStatusNone) {", "if (status == cudaSuccess) {",
           WORKSPACE_CUDA),
    Mutant("device-memory-throws", "core/buffer.hpp", "} catch (...) {", "} catch (const error&) {",
           ("device_buffer_test",)),
    Mutant("cuda-error-without-a-name", GPU_ASSESS, "{912, 915},", "{912, 998},", ("context_test",)),
    Mutant("cuda-error-illegal-address", GPU_ASSESS, "{701, 701},", "{700, 701},", ("context_test",)),
    Mutant("plan-stream-of-any-size", CHOICE_CPP, "forms::stream_holds(p.rows, p.inner, p.nnz)", "true", CHOICE),
    Mutant("plan-stream-half-pairs", "kernels/forms/row_stream/layout.hpp", "(nnz + rows) / 2 < max_pairs",
           "nnz / 2 < max_pairs", CHOICE),
    Mutant("plan-stream-order-on-host", STORED_ROW_STREAM, "rename_rows(stream, how.order)", "(void)how.order", PLAN_CUDA),
    Mutant("stream-bricks-of-heavy-rows", "kernels/forms/row_stream/row_stream.cpp",
           "const std::int64_t row = of.row_at(place), entries", "const std::int64_t row = place, entries",
           ("row_stream_test",)),
    Mutant("stream-bricks-on-device", "kernels/forms/row_stream/row_stream_kernels.cuh",
           "bricks.exists() ? converters::row_in_bricks(bricks, shape, place) : place;", "place;", ("emulated_row_stream_test",)),
    Mutant("stream-bricks-of-the-usual-shape", "kernels/forms/row_stream/row_stream.cpp",
           "converters::brick_of(options.bricks, options.shape), place)", "converters::brick_of(options.bricks), place)",
           ("row_stream_test",)),
    Mutant("stream-depth-beyond-a-brick", "kernels/forms/row_stream/operand.hpp",
           "if (rows_together == 0) return most;", "if (rows_together >= 0) return most;", ("row_stream_test",)),
    Mutant("bricks-rows-beyond-the-grid", BRICK_CUT, "if (in_grid != (former < grid.rows())) return true;", "",
           ("bricks_test",)),
    Mutant("bricks-by-columns-alone", BRICK_CUT, "return num_entries <= max_entries_for(slots) && ", "return ", ("bricks_test",)),
    Mutant("bricks-onto-the-former-layer", "kernels/forms/bricks/bricks.cpp", "used[at(slot)] = true;", "used[at(slot)] = false;",
           ("bricks_test",)),
    Mutant("bricks-own-slot-of-the-next", "kernels/forms/bricks/bricks.cpp", "found != columns.end() && *found == column ?",
           "found != columns.end() ?", ("bricks_test",)),
    Mutant("bricks-without-the-row-behind", BRICK_CUT, "whole(num_rows + 1, brick_row_grain)",
           "whole(num_rows, brick_row_grain)", ("bricks_test",)),
    Mutant("bricks-padding-for-an-entry", BRICK_KERNELS, "in.first_entry[r] = 2 * in.first_pair[r] - odd;",
           "in.first_entry[r] = 2 * in.first_pair[r];", EMULATED_BRICKS),
    Mutant("bricks-repetitions-listed", BRICK_KERNELS, "return i == 0 || in.sorted[i] != in.sorted[i - 1];",
           "return i >= 0;", EMULATED_BRICKS),
    Mutant("bricks-next-before-all-are-done", BRICK_KERNELS, "  __syncthreads();\n  return before;",
           "  return before;", EMULATED_BRICKS),
    Mutant("grid-bricks-cut-off", GRID_HPP, "height = std::min(b.y, g.y - j0);", "height = b.y;", ("grid_test",)),
    Mutant("grid-by-any-diagonal", GRID_CPP, "if (4 * count < rows) continue;", "if (count < 1) continue;", ("grid_test",)),
    Mutant("grid-among-other-entries", GRID_CPP, "if (10 * usual < 9 * static_cast", "if (10 * usual < 0 * static_cast",
           ("grid_test",)),
    Mutant("grid-planes-of-part-lines", GRID_CPP, "return plane % x == 0 && ", "return ", ("grid_test",)),
    Mutant("tiles-cut-where-none-is-long", MMA_TILES, "longest > options.max_whole ? options.max_groups : 0",
           "options.max_groups", ("mma_tiles_test",)),
    Mutant("tiles-cut-twice-as-early", "kernels/forms/mma_tiles/mma_tiles.hpp", ".max_whole = 2 * piece",
           ".max_whole = piece", ("mma_tiles_test",)),
    Mutant("groups-cut-where-none-is-long", COLUMN_GROUPS, "all.slots > 0 && all.longest <= job.max_whole", "false",
           ("emulated_mma_tiles_test",)),
    Mutant("groups-cut-at-the-bound", COLUMN_GROUPS, "all.longest <= job.max_whole", "all.longest < job.max_whole",
           ("emulated_mma_tiles_test",)),
    Mutant("groups-longest-of-the-last", COLUMN_GROUPS, "a.longest > b.longest ? a.longest : b.longest", "b.longest",
           ("emulated_mma_tiles_test",)),
    Mutant("tiles-one-piece-too-many", "kernels/forms/mma_tiles/mma_tiles.hpp", "blocks * (2 * pieces - 1)",
           "blocks * 2 * pieces", ("mma_tiles_test",)),
    Mutant("plan-small-workspace", WORKSPACE_CPP, "run.workspace.size() < bytes", "run.workspace.empty()",
           PLAN),
    Mutant("plan-shared-workspace", WORKSPACE_CPP, "own.taken_.exchange(true, ",
           "own.taken_.exchange(false, ", PLAN),
    Mutant("plan-forced-height", CHOICE_CPP, "if (options.expert.m_block > 0) return {options.expert.m_block};",
           "if (options.expert.m_block > 64) return {options.expert.m_block};", PLAN + CHOICE),
    Mutant("plan-tiles-for-four-columns", CHOICE_CPP, "takes_tiles && cols <= few_cols", "takes_tiles && cols < few_cols", CHOICE),
    Mutant("plan-small-teams-for-many-columns", CHOICE_CPP, "(has_small_teams || is_narrow) && cols",
           "is_narrow && cols", CHOICE),
    Mutant("plan-narrow-tiles-for-many-columns", CHOICE_CPP, "(has_small_teams || is_narrow) && cols",
           "has_small_teams && cols", CHOICE),
    Mutant("plan-pairs-at-odd-places", "lib/choice/column_major.cpp", "p.rows % 2 == 0 ? 0.1",
           "true ? 0.1", CHOICE),
    Mutant("costs-share-in-place", "lib/choice/kept_costs.cpp", "std::min(1000, 2 * thousandths)", "thousandths",
           ("kept_costs_test",)),
    Mutant("plan-slowest", CHOICE_CPP, "stable_sort(all, {}, [&]", "stable_sort(all, std::greater{}, [&]", CHOICE),
    Mutant("plan-widest-tile", CHOICE_CPP, "std::clamp<std::int64_t>(p.cols, 8, 128)", "128", CHOICE),
    Mutant("plan-own-height", CHOICE_CPP, "between(m_block > 0 ? m_block : 8, kernel.m_tile)",
           "between(8, kernel.m_tile)", CHOICE),

    # --- LOBPCG ---
    Mutant("lobpcg-wrong-end", RAYLEIGH_RITZ, "largest ? rank - 1 - j : j", "largest ? j : rank - 1 - j",
           LOBPCG + SMALL_DENSE),
    Mutant("lobpcg-directions", RAYLEIGH_RITZ, "std::fill_n(p.data(), m * p.cols(), 0.0);",
           "std::fill_n(p.data(), (m - m) * p.cols(), 0.0);", SMALL_DENSE),
    Mutant("lobpcg-residual-sign", LOBPCG_ITERATION, "for (double& value : less) value = -value;",
           "for (double& value : less) value = 1 * value;", LOBPCG),
    Mutant("lobpcg-constraints", LOBPCG_BASIS, "if (is_constrained) subtract(", "if (!is_constrained) subtract(", LOBPCG),
    Mutant("lobpcg-max-iterations", LOBPCG_ITERATION, "result_.iterations >= options_.max_iterations",
           "result_.iterations > options_.max_iterations", LOBPCG),
    Mutant("lobpcg-count-products", LOBPCG_BASIS, "if (&op == given_a_) ++num_products_;", "++num_products_;", LOBPCG),
    Mutant("lobpcg-null-space", LOBPCG_ITERATION, "if (basis_.num_unseen() > 0) stop(",
           "if (basis_.num_unseen() < 0) stop(", LOBPCG),
    Mutant("whiten-keeps-everything", SMALL_DENSE_CPP, "<= threshold * largest", "<= -largest", SMALL_DENSE),
    Mutant("pencil-inverse", DENSE_PENCIL, "value = 1 / value;", "value = 1 * value;", LOBPCG + SMALL_DENSE),

    # --- CG ---
    Mutant("cg-tolerance", CG_PARTS, "tolerance * tolerance * squares[j]", "tolerance * squares[j]", CG),
    Mutant("cg-true-residual", SIMULTANEOUS_CG, "multiply(parts_.exact, x_, r_);", "multiply(parts_.exact, p_, r_);", CG),
    Mutant("cg-zero-diagonal", CG_CPP, "if (entry <= 0) return", "if (entry < 0) return", CG),
    Mutant("cg-jacobi", CG_CPP, "entry = T{1} / entry;", "entry = T{1};", CG),
    Mutant("cg-zero-right-hand-side", CG_PARTS, "b.zero.push_back(abs_sums[j] == 0);",
           "b.zero.push_back(abs_sums[j] < 0);", CG),
    Mutant("cg-start-vector", SIMULTANEOUS_CG, "} else {\n    x_.clear(env_.stream);",
           "} else {\n    load_block(parts_.ctx(), env_, dense_view<const T>(x), x_space, x_);", CG),
    Mutant("cg-correction-starts-at-zero", SIMULTANEOUS_CG, "  x_.clear(env_.stream);\n  right_hand_sides b",
           "  right_hand_sides b", ("cg_precision_test",)),
    Mutant("cg-correction-limit", SIMULTANEOUS_CG, "closed[j] ? 0 : options_.tolerance * options_.tolerance",
           "closed[j] ? 0 : options_.tolerance", ("cg_precision_test",)),
    Mutant("shift-without-alpha", "lib/solvers/composed_operators.cpp", "static_cast<double>(alpha.value()) * sigma;", "sigma;", ("composed_operators_test",)),
    Mutant("shift-beyond-range", "lib/solvers/composed_operators.cpp", "static_cast<double>(static_cast<T>(number)) == number", "true", ("composed_operators_test",)),
    Mutant("shift-of-another-place", "lib/solvers/operator_state.hpp", "z.row_stride() == y.row_stride() &&",
           "", ("composed_operators_test",)),
    Mutant("cg-count-products", SIMULTANEOUS_CG, "++result_.num_products;", "result_.num_products = result_.iterations;",
           CG),
    Mutant("cg-direction-factor", STEPS, "s.beta[j] = rz / s.rz[j];", "s.beta[j] = s.rz[j] / rz;", CG),
    Mutant("cg-indefinite", STEPS, "if (pq <= 0 || rz < 0) {", "if (pq < -1e300 || rz < 0) {", CG),
    Mutant("cg-block-stays-broken", "lib/solvers/broken_block.cpp", "return ended > 1;", "return ended > 100;", CG_METHODS),
    Mutant("cg-broken-block-keeps-x", "lib/solvers/block_cg.cpp", "if (!is_broken(result_)) store_block", "store_block", CG_METHODS),
    Mutant("cg-not-finite-breaks-the-block", "lib/solvers/broken_block.cpp", "as_broken && std::isfinite(of_block.true_residual[j])", "as_broken", CG_METHODS),
    Mutant("cg-broken-block-counts-anew", "lib/solvers/broken_block.cpp", "before + iteration", "iteration", CG_METHODS),
    Mutant("cg-runs-until-it-overflows", SIMULTANEOUS_CG, "column.stagnated = any_lost = true;", "continue;", CG_METHODS),
    Mutant("cg-null-space-unseen", SIMULTANEOUS_CG, "const bool knows_null_space = std", "const bool knows_null_space = false && std", CG_METHODS),
    Mutant("cg-asymmetry-unseen", "lib/solvers/symmetry.cpp", "tolerated<T> * size) return false;", "1e3 * size) return false;", CG_METHODS),
    Mutant("cg-asymmetry-not-told", "lib/solvers/symmetry.cpp", "= cg_stop::not_symmetric;", "= cg_stop::stagnated;", CG_METHODS),
    Mutant("cg-log-is-no-ring", "lib/solvers/iteration_report.cpp", "std::min(rows, log_rows_ - begin)", "rows", CG_METHODS),
    Mutant("cg-restart-direction", SIMULTANEOUS_CG, "turn_from_last_direction();\n  }\n  set_direction();",
           "turn_from_last_direction();\n  }", CG),
    Mutant("cg-residual-sign", VECTOR_CPU, "static_cast<double>(r[at]) - alpha *",
           "static_cast<double>(r[at]) + alpha *", VECTOR),
    Mutant("mma-prefetches-past-the-end", "kernels/cuda/mma/source.cuh", "first + count > prefetched_tiles",
           "first > prefetched_tiles", EMULATED_MMA),
    Mutant("host-block-gaps-ignored", HOST_BLOCK, "x.row_stride() == x.cols)", "x.row_stride() >= x.cols)",
           ("host_block_test",)),
    Mutant("host-block-columns-joined", HOST_BLOCK, "joined = rows == x.ld;", "joined = rows <= x.ld;",
           ("host_block_test",)),
    Mutant("host-block-part-misplaced", HOST_BLOCK, ".pack(env, {cols, rows}, from.data() + i * s.k + j,",
           ".pack(env, {cols, rows}, from.data() + j,", ("host_block_test",)),
    Mutant("cg-direction-sign", VECTOR_CPU, "z + scalars.beta[j] *", "z - scalars.beta[j] *", VECTOR),
    Mutant("cg-sum-of-chunks", VECTOR_CPU, "for (std::int64_t chunk = 1; chunk < num_chunks",
           "for (std::int64_t chunk = 2; chunk < num_chunks", VECTOR),

    # --- CUDA: what the kernels share ---
    Mutant("cuda-ragged-block", TILE, "(next_row < args.a.rows ? next_row : args.a.rows) - first_row;",
           "next_row - first_row;", KERNELS),
    Mutant("cuda-beta-zero-reads-c", TILE,
           "*c = by.beta == T{0} ? by.alpha * sum : by.alpha * sum + by.beta * *addend_of(c, by.z_offset);",
           "*c = by.alpha * sum + by.beta * *addend_of(c, by.z_offset);", KERNELS),
    Mutant("cuda-column-stride", TILE, "(at.first_col + n) * args.c_col_stride;", "(at.first_col + n);", KERNELS),
    Mutant("cuda-alpha-zero-reads-a", TILE, "if (alpha != T{0}) {", "if (true) {", KERNELS),
    Mutant("cuda-device-beta", TILE, "args.beta_at != nullptr ? *args.beta_at : args.beta,", "args.beta,", PLAN_CUDA),
    Mutant("cuda-adds-c-for-z", TILE, "  return element + z_offset;", "  return element;", EMULATED_ROWWISE),
    Mutant("cuda-adds-vector-of-c-for-z", VECTORS, "read_vector<Values>(former, addend_of(c, by.z_offset));",
           "read_vector<Values>(former, c);", EMULATED_ROWWISE),

    # --- naive ---
    Mutant("naive-add", NAIVE, "sums[m * Threads] += __ldg(", "sums[m * Threads] = __ldg(", KERNELS),
    Mutant("naive-last-column", NAIVE, "if (n >= at.num_cols) continue;", "if (n >= at.num_cols - 1) continue;",
           KERNELS),
    Mutant("naive-second-tile", NAIVE, "b_row(args, col_at(args, i), at.first_col)",
           "b_row(args, col_at(args, i), 0)", KERNELS),
    # --- warp ---
    Mutant("warp-atomic", WARP, "atomicAdd(sums + m * NTile + lane + j * Lanes, value * b_items[j]);",
           "sums[m * NTile + lane + j * Lanes] += value * b_items[j];", KERNELS),
    Mutant("warp-last-lane", WARP, "static_cast<int>(last - first) : Lanes;",
           "static_cast<int>(last - first) : Lanes - 1;", KERNELS),
    Mutant("warp-first-column", WARP, "for (int taken = warp; taken < 32; taken += Warps) {",
           "for (int taken = warp + 1; taken < 32; taken += Warps) {", KERNELS),
    Mutant("warp-column-major", WARP, "along_columns ? i % at.num_rows : i / NTile;",
           "along_columns ? i % MTile : i / NTile;", KERNELS),
    # --- tiled ---
    Mutant("tiled-sign", TILED, "sums[i][j] += a[i] * b[j];", "sums[i][j] -= a[i] * b[j];", KERNELS),
    Mutant("tiled-rows-of-thread", TILED, "y * piece_y + i % piece_y;", "y * piece_y + i / piece_y;", KERNELS),
    Mutant("tiled-other-slice", TILED, "if (mine.row[pass] < Shape::m_tile) to.a",
           "if (mine.row[pass] <= Shape::m_tile) to.a", KERNELS),
    Mutant("tiled-long-columns", TILED, "mine.at[pass] += Shape::lanes;", "mine.at[pass] += 2 * Shape::lanes;",
           KERNELS),
    Mutant("tiled-depth", TILED, "(count + Shape::steps - 1) / Shape::steps * Shape::steps",
           "count / Shape::steps * Shape::steps", KERNELS),
    Mutant("tiled-c-alignment", TILED, "args.c_row_stride % piece_x == 0 &&", "true &&", KERNELS),
    Mutant("tiled-b-alignment", TILED, "&& args.ldb % shape::largest_piece == 0;", ";", KERNELS),
    Mutant("tiled-edge-of-c", TILED, "if (n + k < at.num_cols) store(", "if (n + k <= at.num_cols) store(", KERNELS),
    # --- what parts the threads, on the emulated GPU: a GPU may well get away without it ---
    Mutant("emulated-warp-zeros", WARP, "    __syncthreads();\n\n    position<I> entry", "\n    position<I> entry",
           EMULATED_WARP),
    Mutant("emulated-warp-sums", WARP, "    __syncthreads();\n\n    const bool along", "\n    const bool along",
           EMULATED_WARP),
    Mutant("emulated-warp-next-tile", WARP, "    __syncthreads();  // before the next tile's zeros\n", "", EMULATED_WARP),
    Mutant("emulated-warp-atomic", WARP, "atomicAdd(sums + m * NTile + lane + j * Lanes, value * b_items[j]);",
           "sums[m * NTile + lane + j * Lanes] += value * b_items[j];", EMULATED_WARP),
    Mutant("emulated-warp-mask", WARP, "__shfl_sync(mask, my_row, from, Lanes)",
           "__shfl_sync(0xffffffffu, my_row, from, Lanes)", EMULATED_WARP),
    Mutant("emulated-tiled-stage", TILED,
           "        __syncthreads();  // the stage has been multiplied and may be overwritten\n", "", EMULATED_TILED),
    Mutant("emulated-tiled-both-stages", TILED,
           "      __syncthreads();  // both stages of the last tile have been multiplied\n", "", EMULATED_TILED),
    Mutant("emulated-tiled-wait", TILED, "        wait_for_copies();\n        __syncthreads();  // this stage",
           "        __syncthreads();  // this stage", EMULATED_TILED),
    Mutant("emulated-tiled-zeros", TILED, "    __syncwarp();\n", "", EMULATED_TILED),
    Mutant("staged-barrier", STAGED,
           "      __syncthreads();  // all have copied this stage, and multiplied the one before\n", "", EMULATED_STAGED),
    Mutant("staged-wait", STAGED, "wait_for_all_but<Stages - 2>();", "wait_for_all_but<Stages - 1>();", EMULATED_STAGED),
    Mutant("staged-barrier-of-sums", STAGED, "    __syncthreads();  // no warp reads a stage any more\n", "",
           EMULATED_STAGED),
    Mutant("staged-past-the-groups", STAGED_COPIES, "at < last ? at : last", "at", EMULATED_STAGED),
    Mutant("staged-whole-slab", STAGED_COPIES, "width_ == Shape::vector && num_cols_ == Shape::block_slab",
           "width_ == Shape::vector", EMULATED_STAGED),
    Mutant("wgmma-filled", WGMMA, "        filled[next.stage()].wait(next.phase);\n", "", EMULATED_WGMMA),
    Mutant("wgmma-left", WGMMA, "    left[to_copy.stage()].wait(to_copy.phase - 1);\n", "", EMULATED_WGMMA),
    Mutant("wgmma-wait", WGMMA, "    wait_for_all_but<ahead>();", "    wait_for_all_but<ahead + 1>();", EMULATED_WGMMA),
    Mutant("wgmma-numbers-too-late", WGMMA, "    __syncwarp();  // all lanes have read", "    // all lanes have read",
           EMULATED_WGMMA),
    Mutant("wgmma-past-the-groups", WGMMA_PRODUCER, "present ? 8 : 0", "8", EMULATED_WGMMA),
    Mutant("wgmma-whole-slab", WGMMA_PRODUCER, "width_ == vector && num_cols_ == Shape::block_slab", "width_ == vector",
           EMULATED_WGMMA),
    Mutant("wgmma-low-parts", WGMMA_PRODUCER, "if constexpr (Shape::products == 3) value[v] -=",
           "if constexpr (Shape::products == 4) value[v] -=", EMULATED_WGMMA),
    # --- what a kernel may touch while the one before it ends: on a GPU luck decides ---
    Mutant("early-sliced", SLICED,
           "slice, 0, lane);\n  int block = block_of_lane<blocks>(args.a, slice, lane);\n"
           "  if (!ahead.has_arrived()) return false;\n  wait_for_previous();\n",
           "slice, 0, lane);\n  int block = block_of_lane<blocks>(args.a, slice, lane);\n"
           "  if (!ahead.has_arrived()) return false;\n", EMULATED_SLICED),
    Mutant("early-sliced-long", SLICED,
           "slice, first, lane);\n  if (!ahead.has_arrived()) return false;\n  wait_for_previous();\n",
           "slice, first, lane);\n  if (!ahead.has_arrived()) return false;\n", EMULATED_SLICED),
    Mutant("sliced-steps-of-all-warps", SLICED, "from += num_sharers * Unroll;", "from += Unroll;", EMULATED_SLICED),
    Mutant("sliced-sum-of-a-warp-less", SLICED, "for (int w = 1; w < Warps; ++w)", "for (int w = 2; w < Warps; ++w)",
           EMULATED_SLICED),
    Mutant("sliced-next-long-too-early", SLICED, "  __syncthreads();  // before another turn writes to shared memory\n", "",
           EMULATED_SLICED),
    Mutant("sliced-cluster-adds-apart", SLICED, "of_cluster_rank(partial, adder / (Count / most_cluster_blocks))",
           "partial", EMULATED_SLICED),
    Mutant("sliced-cluster-by-thread-blocks", SLICED_CUT, "first_slice = static_cast<int>(group);",
           "first_slice = static_cast<int>(chunk);", EMULATED_SLICED),
    Mutant("sliced-longest-last", BLOCK_SLICES, "long_block_key(length(b)) < long_block_key(length(c))",
           "long_block_key(length(b)) > long_block_key(length(c))", ("block_slices_test",)),
    Mutant("sliced-longest-last-on-the-device", BLOCK_SLICES_KERNELS, "is_long    ? long_block_key(length(b))",
           "is_long    ? 0", ("emulated_block_slices_test",)),
    Mutant("sliced-long-by-one", BLOCK_SLICES, "length(b) > longest_of_warp", "length(b) >= longest_of_warp",
           ("block_slices_test",)),
    Mutant("sliced-long-on-the-device", BLOCK_SLICES_KERNELS, "is_alone && length(b) > longest_of_warp", "is_alone",
           ("emulated_block_slices_test",)),
    Mutant("sliced-rows-without-entry", SLICED, "const bool has_row = Rows == 1 ||", "const bool has_row = true ||",
           EMULATED_SLICED),
    Mutant("sliced-lanes-off-the-diagonal", SLICED, "(diagonals[k].y >> lane & 1u) != 0 ?", "true ?", EMULATED_SLICED),
    Mutant("prefetch-share-too-small", "kernels/cuda/l2_prefetch.cuh", "ceil_div(ceil_div(bytes, num_blocks), line) * line",
           "bytes / num_blocks / line * line", EMULATED_ROWWISE),
    Mutant("prefetch-of-any-size", "kernels/cuda/l2_prefetch.cuh", "bytes > most || ", "", EMULATED_ROWWISE),
    Mutant("sliced-dot-of-a-lane", SLICED_DOTS, "sums[own] = all[0][0];", "sums[own] = sum;",
           EMULATED_SLICED),
    Mutant("sliced-dot-by-stored-rows", SLICED_DOTS, "args.b[row * args.ldb]", "args.b[(block * Rows + r) * args.ldb]",
           EMULATED_SLICED),
    Mutant("sliced-dot-of-long-rows", SLICED, "dot.add(args, slice.first_block, sums);", ";", EMULATED_SLICED),
    Mutant("sliced-half-the-lanes", SLICED_HELD, "distance >= Blocks", "distance > Blocks", EMULATED_SLICED),
    Mutant("sliced-past-the-columns", SLICED, "if (j < num_cols) store(", "store(", EMULATED_SLICED),
    Mutant("sliced-order-of-tiles", SLICED_CUT, "group = grid.tiles_first ? rest : first;", "group = rest;", EMULATED_SLICED),
    Mutant("sliced-columns-of-a-tile", SLICED, "sums[r][j] += value * of_b[k][j];", "sums[r][j] += value * of_b[k][0];",
           EMULATED_SLICED),
    Mutant("coalescing-all-sectors", "converters/formats/coalescing.cpp", "if (slots_[slot] == number) return;",
           "if (false) return;", ("coalescing_test",)),
    Mutant("coalescing-all-entries", "converters/formats/coalescing.cpp", "        ++counted.entries;",
           "        counted.entries += apart / lanes;", ("coalescing_test",)),
    Mutant("coalescing-reach-of-all", "converters/formats/coalescing.cpp", "(std::ssize(distances) - 1) * 99 / 100",
           "std::ssize(distances) - 1", ("coalescing_test",)),
    Mutant("neighbours-by-what-is-not-known", "lib/choice/neighbours.hpp", "(p.sectors_per_entry[0] > 0 ? 0 : 1)", "0",
           ("neighbours_test",)),
    Mutant("residual-code-of-one-size", "lib/choice/residual_code.cpp",
           "[magnitude_of(last_)]", "[0]",
           ("kept_costs_test",)),
    Mutant("residual-code-goes-on", "lib/choice/residual_code.cpp", "if (!bytes.at_end())", "if (false)",
           ("kept_costs_test",)),
    Mutant("costs-of-a-whole-for-a-part", "lib/choice/known_costs.cpp",
           " && gpu.num_multiprocessors == h200_constants.multiprocessors", "", ("known_costs_test",)),
    Mutant("costs-gathered-by-l2-alone", "lib/choice/known_costs.cpp", "std::max(by.cache, by.multiprocessors)", "by.cache",
           ("known_costs_test",)),
    Mutant("dense-of-any-size", CHOICE_CPP, "&& !forms::dense_holds(p.rows, p.inner)", "&& false",
           ("dense_choice_test",)),
    Mutant("dense-within-a-gibibyte", CHOICE_CPP, "p.nnz * (value_bytes + index_bytes)", "std::int64_t{0}",
           ("dense_choice_test",)),
    Mutant("sliced-rows-not-counted", "kernels/forms/block_slices/layout.hpp", "<= 2 * (columns + count)", "<= 2 * columns",
           ("block_slices_test",)),
    Mutant("sliced-one-window", "kernels/forms/block_slices/layout.hpp", "how.several_columns ? 256 : 2048", "2048",
           ("block_slices_test",)),
    Mutant("sliced-front-of-any-size", "kernels/forms/block_slices/operand.hpp", "|| a.reach <= kept_rows / 2",
           "|| a.reach <= kept_rows", ("block_slices_test",)),
    Mutant("choice-scattered-slices", CHOICE_CPP, "(sectors < scattered || read_mb", "(true || read_mb",
           ("choice_test",)),
    Mutant("sliced-last-slice", BLOCK_SLICES, "return block < out_.num_blocks ? block : -1;", "return block;",
           ("block_slices_test",)),
    Mutant("sliced-unstable-windows", BLOCK_SLICES, "return length(b) > length(c);", "return length(b) < length(c);",
           ("block_slices_test",)),
    Mutant("sliced-device-steps", BLOCK_SLICES_KERNELS, "(longest + parts - 1) / parts", "longest / parts",
           ("emulated_block_slices_test",)),
    Mutant("sliced-part-of-a-column", BLOCK_SLICES_KERNELS, "here && entries_of(job, next) == job.height", "here",
           ("emulated_block_slices_test",)),
    Mutant("early-rowwise", ROWWISE, "leads around it.\n    wait_for_previous();\n", "leads around it.\n", EMULATED_ROWWISE),
    Mutant("rowwise-sums-of-the-first-team", ROW_EPILOGUE, "for (int t = 1; t < static_cast<int>(args.a.sharing); ++t)",
           "for (int t = 2; t < static_cast<int>(args.a.sharing); ++t)", EMULATED_ROWWISE),
    Mutant("rowwise-every-team-writes", ROW_EPILOGUE, "writes = writes && (!is_long || place == 0);", "", EMULATED_ROWWISE),
    Mutant("rowwise-parts-without-the-workspace", ROW_EPILOGUE, "partial = is_long && part_at(a.index()) < args.a.num_partials;",
           "partial = false;", EMULATED_ROWWISE),
    Mutant("rowwise-sums-too-early", ROW_EPILOGUE, "own[column_of<Lanes, Width>(lane, first + i)] = sums[i];\n    }\n    __syncthreads();\n",
           "own[column_of<Lanes, Width>(lane, first + i)] = sums[i];\n    }\n", EMULATED_ROWWISE),
    Mutant("rowwise-next-sums-too-early", ROW_EPILOGUE,
           "    __syncthreads();  // before the next sums\n  }\n\n  __device__ void write_partials",
           "  }\n\n  __device__ void write_partials", EMULATED_ROWWISE),
    Mutant("rowwise-dots-of-shared-sums", ROWWISE,
           "      if constexpr (Dots) dots.add(args, a, at, lane, first, sums, round == 0);\n"
           "      result.write(a, at, lane, group, team, first, sums);\n",
           "      result.write(a, at, lane, group, team, first, sums);\n"
           "      if constexpr (Dots) dots.add(args, a, at, lane, first, sums, round == 0);\n", EMULATED_ROWWISE),
    Mutant("stream-parts-in-the-rows-order", "kernels/forms/row_stream/row_stream.cpp",
           "if (!cut.is_heavy(entries)) {\n      of_one_part", "if (!cut.is_heavy(entries)) {\n      long_rows",
           ("row_stream_test",)),
    Mutant("stream-parts-on-device", "kernels/forms/row_stream/row_stream_kernels.cuh",
           "return by.is_heavy(entries) ? 0 : 1;", "return 0;", ("emulated_row_stream_test",)),
    Mutant("sliding-filled", SLIDING, "      stages.wait_until_filled(next);\n", "", EMULATED_SLIDING),
    Mutant("sliding-left", SLIDING_PRODUCER,
           "    stages_.wait_until_left(stage - Shape::stages);\n    unsigned char* const to",
           "    unsigned char* const to", EMULATED_SLIDING),
    Mutant("sliding-rows-still-read", SLIDING_WINDOW, "of.after = last_user_below(stage, end_ - Shape::kept);",
           "of.after = -1;", EMULATED_SLIDING),
    Mutant("sliding-new-window-early", SLIDING_WINDOW, "end_ = last + 1;\n      of.after = stage - 1;",
           "end_ = last + 1;", EMULATED_SLIDING),
    Mutant("sliding-scattered-early", SLIDING_WINDOW, "of.scattered = true;\n      of.after = stage - 1;",
           "of.scattered = true;", EMULATED_SLIDING),
    Mutant("sliding-window-too-long", SLIDING_WINDOW,
           "      if (begin_ < end_ - Shape::kept) begin_ = end_ - Shape::kept;\n", "", EMULATED_SLIDING),
    Mutant("sliding-unaligned-in-bulk", SLIDING_PRODUCER, "in_bulk_(width * static_cast<int>(sizeof(T)) == 16 && ",
           "in_bulk_(", EMULATED_SLIDING),
    Mutant("sliding-tiles-of-other-parts", SLIDING_MULTIPLY, "__popc(own & ((1u << i) - 1))", "i", EMULATED_SLIDING),
    Mutant("early-sliding", SLIDING, "  wait_for_previous();\n  let_next_begin();\n  item_run",
           "  let_next_begin();\n  item_run", EMULATED_SLIDING),
    Mutant("whole-tile-drops-c", MMA_EPILOGUE, "to.by.beta == scalar_of<T>{0} && ", "", EMULATED_SLIDING),
    Mutant("whole-tile-in-stored-order", MMA_EPILOGUE, "by_vector && to.row_of == nullptr && ", "by_vector && ",
           EMULATED_SLIDING),
    Mutant("whole-tile-past-the-rows", MMA_EPILOGUE, " &&\n      end_of_rows <= to.num_rows", "", EMULATED_SLIDING),
    Mutant("band-as-wide-as-it-is", SHARES, "return p.farthest <= widest && ", "return ", ("choice_test",),
           in_cuda_tables=True),
    Mutant("band-of-the-first-entries", "converters/formats/coalescing.cpp", "distance(begin), distance(end - 1)",
           "distance(begin)", ("coalescing_test",)),
    Mutant("early-brickwise", BRICKWISE, "  wait_for_previous();\n  let_next_begin();\n", "  let_next_begin();\n",
           EMULATED_BRICKWISE),
    Mutant("brickwise-adds-the-next-row", BRICKWISE, "        if (adds_ahead) addends = next;\n        ask(r + shape::teams);",
           "        ask(r + shape::teams);\n        addends = next;", EMULATED_BRICKWISE),
    Mutant("brickwise-adds-b-that-is-not-read", BRICKWISE, "const bool adds_b = grid.adds_b && reads;  // else",
           "const bool adds_b = grid.adds_b;  // else", EMULATED_BRICKWISE),
    Mutant("brickwise-adds-b-from-any-slot", BRICKWISE, "if (adds_b && row.own_slot != forms::no_slot) {",
           "if (adds_b) {", EMULATED_BRICKWISE),
    Mutant("brickwise-list-too-early", BRICKWISE, "wait_for_all_but<1>();", "wait_for_all_but<2>();", EMULATED_BRICKWISE),
    Mutant("brickwise-layer-too-early", BRICKWISE, "wait_for_all_but<2>();", "wait_for_all_but<3>();",
           EMULATED_BRICKWISE),
    Mutant("brickwise-dots-of-other-pieces", BRICKWISE, "const int same = distance < Pieces ? j ^ distance : j;",
           "const int same = j;", EMULATED_BRICKWISE),
    Mutant("brickwise-reads-for-alpha-zero", BRICKWISE, "const bool reads = by.alpha != T{0};", "const bool reads = true;",
           EMULATED_BRICKWISE),
    Mutant("brickwise-past-the-columns", BRICKWISE_COPIES, "(width_ - piece * Shape::vector) * size, 16)",
           "Shape::vector * size, 16)", EMULATED_BRICKWISE),
    Mutant("early-partials", PARTIALS,
           "  wait_for_previous();\n  let_next_begin();\n  const scalars<S> by = read_scalars(args);\n",
           "  const scalars<S> by = read_scalars(args);\n  wait_for_previous();\n  let_next_begin();\n", EMULATED_ROWWISE),
    Mutant("early-mma", MMA, "  wait_for_previous();\n  let_next_begin();\n  if (const mma_place at = place(); at.lies",
           "  if (const mma_place at = place(); at.lies", EMULATED_MMA),
    Mutant("early-mma-sum", MMA_SUM,
           "  wait_for_previous();\n  let_next_begin();\n  const scalars<S> by = read_scalars(args);\n",
           "  const scalars<S> by = read_scalars(args);\n  wait_for_previous();\n  let_next_begin();\n",
           EMULATED_MMA),
    Mutant("early-staged", STAGED, "  wait_for_previous();\n  let_next_begin();\n  if (read_scalars",
           "  if (read_scalars", EMULATED_STAGED),
    Mutant("early-wgmma", WGMMA, "  wait_for_previous();\n  let_next_begin();\n  item_walk",
           "  let_next_begin();\n  item_walk", EMULATED_WGMMA),
    Mutant("cuda-scatter-leaves-z", SCATTER, "args.beta == T{1} && args.z_offset == 0) return cudaSuccess;",
           "args.beta == T{1}) return cudaSuccess;", EMULATED_SCATTER),
    Mutant("early-scatter", SCATTER, "kernel before has written\n      wait_for_previous();\n",
           "kernel before has written\n", EMULATED_SCATTER),
    Mutant("early-turn", PACK, "  wait_for_previous();\n", "", EMULATED_GPU),
    Mutant("early-far-rows", MMA, "  wait_for_previous();\n  let_next_begin();\n  const std::int64_t step",
           "  let_next_begin();\n  const std::int64_t step", EMULATED_MMA),
    Mutant("incoherent-b", VECTORS, "load_global(reinterpret_cast<const typename detail::builtin_vector<T, Values>",
           "__ldg(reinterpret_cast<const typename detail::builtin_vector<T, Values>", EMULATED_ROWWISE),
    Mutant("incoherent-copy-of-b", MMA_SOURCE, "present > 0 ? load_global(&row[n].bits)",
           "present > 0 ? __ldg(&row[n].bits)", EMULATED_MMA),
    # --- what is not finite in B, and rows of B that lie far apart ---
    Mutant("mma-no-vote", MMA, "if (__all_sync(0xffffffffu, are_finite<shape>(sums))) {", "if (true) {",
           EMULATED_MMA),
    Mutant("staged-no-vote", STAGED, "if (__all_sync(0xffffffffu, are_finite<shape>(sums))) {", "if (true) {",
           EMULATED_STAGED),
    Mutant("wgmma-no-vote", WGMMA, "if (__all_sync(0xffffffffu, are_finite<shape>(sums))) {", "if (true) {",
           EMULATED_WGMMA),
    Mutant("vote-of-one-half", FINITE, "products[i / 2 % 4] += sums[i] * sums[i + 1];",
           "products[i / 2 % 4] += sums[i] * sums[i];", EMULATED_MMA),
    Mutant("vote-without-the-last", FINITE, "if (Count % 2 != 0) products[3]", "if (false) products[3]", EMULATED_FMA),
    Mutant("fma-no-vote", FMA, "if (__all_sync(0xffffffffu, all_finite<shape::num_sums>(&sums[0][0][0]))) {",
           "if (true) {", EMULATED_FMA),
    Mutant("early-fma", FMA, "  wait_for_previous();\n  let_next_begin();\n  typename shape::sums",
           "  let_next_begin();\n  typename shape::sums", EMULATED_FMA),
    Mutant("fma-far-rows", FMA, "if (product.ldb > max_fma_ld<T>)", "if (product.ldb > 4 * max_fma_ld<T>)", EMULATED_FMA),
    Mutant("fma-tiles-too-early", FMA_RING, "if (at_ + step_bytes <= held_) return;",
           "if (at_ <= held_) return;", EMULATED_FMA),
    Mutant("fma-ring-without-tail", FMA_RING, "if (next_ + place < step_bytes) copy_async16", "if (false) copy_async16",
           EMULATED_FMA),
    Mutant("fma-columns-past-n", FMA_MULTIPLY, "return wanted < last ? wanted : last;", "return wanted;", EMULATED_FMA),
    Mutant("fma-stored-zeros", FMA_TILES, "    out_.masks[at(tile)] =",
           "    if (a_.values[at(e)] != T{0}) out_.masks[at(tile)] =", EMULATED_FMA),
    Mutant("fma-tiles-masks-on-device", FMA_TILES_KERNELS, "atomicOr(masks + tile, 1u << in_tile);",
           "masks[tile] |= 1u << in_tile;", ("emulated_fma_tiles_test",)),
    Mutant("mma-stored-zeros", MMA_TILES, "out.masks[at(own_tile)] |= std::uint64_t{1} << place;",
           "if (a.values[at(e)] != T{0}) out.masks[at(own_tile)] |= std::uint64_t{1} << place;", EMULATED_MMA),
    Mutant("mma-pieces-whole", MMA_STORED, "  if (item.slot < 0) {\n    deliver_stored(",
           "  if (true) {\n    deliver_stored(", EMULATED_MMA),
    Mutant("mma-pair-past-rows", MMA_EPILOGUE, "by_pair && first + 1 < to.num_rows", "by_pair", EMULATED_MMA),
    Mutant("mma-pair-of-permuted", MMA_EPILOGUE, "to.row_of == nullptr && to.col_stride", "to.col_stride", EMULATED_MMA),
    Mutant("mma-pair-at-odd-columns", MMA_EPILOGUE, "to.col_stride % 2 == 0 &&\n         ", "", EMULATED_MMA),
    Mutant("mma-far-rows", MMA, "std::max(spmm.ldb, spmm.b_col_stride) > max_mma_ld<T>",
           "std::max(spmm.ldb, spmm.b_col_stride) > 4 * max_mma_ld<T>", EMULATED_MMA),
    Mutant("gemm-without-mask", GEMM, "std::uint32_t stored = args.a.mask[m * args.a.row_words + word];",
           "std::uint32_t stored = 0xffffffffu;", EMULATED_GEMM),
    Mutant("gemm-no-look", GEMM, "(is_good[v] && sum[v] - sum[v] == scalar_of<T>{0})", "is_good[v]", EMULATED_GEMM),
    Mutant("gemm-no-look-in-place", GEMM, "    if (sum - sum == S{0}) continue;", "    if (true) continue;", EMULATED_GEMM),
    Mutant("gemm-early-look", GEMM, "  constexpr int at_once = gemm_pieces_at_once;\n  wait_for_previous();",
           "  constexpr int at_once = gemm_pieces_at_once;", EMULATED_GEMM),
    Mutant("halves-lossy-columns-and-rows", GEMM_HALVES, " + static_cast<float>(num_lossy[v]) * along.loss;", ";",
           EMULATED_GEMM),
    Mutant("halves-lossy-lines", GEMM_HALVES,
           "const float lost_in_line = static_cast<float>(line.num_lossy[at_line]) * line.loss;",
           "const float lost_in_line = 0;", EMULATED_GEMM),
    Mutant("halves-low-parts", GEMM_HALVES, "write_halves<Vector>(own.place(1, i), low);",
           "write_halves<Vector>(own.place(1, i), high);", EMULATED_GEMM),
    Mutant("halves-powers-past-fp32", GEMM_HALVES, "by >= least && by <= most ?", "true ?", EMULATED_GEMM),
    Mutant("halves-same-line", GEMM_HALVES, "halves_of_sums{columns, rows, share}", "halves_of_sums{rows, columns, share}",
           EMULATED_GEMM),
    Mutant("halves-powers-of-rows", DENSE_KERNELS, "job.back[row] = scale.back * (1 / sums_of_halves(job.count));",
           "job.back[row] = scale.back;", EMULATED_GEMM),
    Mutant("halves-zero-is-no-loss", DENSE_HALVES, "part.loses || (scaled == 0 && x != 0)", "part.loses", EMULATED_GEMM),
    Mutant("half-no-loss", DENSE_HALVES, "fabsf(x - Half::widen(high).x) > 0x1p-11f * fabsf(x)", "false", EMULATED_GEMM),
    Mutant("half-loses-as-pairs", GEMM_HALVES, "(count == 1 ? 0x1p-25f : 0x1p-36f)", "0x1p-36f", EMULATED_GEMM),
    Mutant("half-in-the-range-of-pairs", DENSE_HALVES, "return count == 1 ? 14 : 3;", "return 3;", EMULATED_GEMM),
    Mutant("halves-no-loss", DENSE_HALVES, "fabsf(lost) > terms_of_halves * 0x1p-24f * fabsf(x)", "false", EMULATED_GEMM),
    Mutant("dense-mask-of-values", DENSE_KERNELS, "stored |= static_cast<std::uint32_t>(is_stored) << (c - first);",
           "stored |= static_cast<std::uint32_t>(to[c] != Value{0}) << (c - first);", EMULATED_GEMM),
    Mutant("mma-tiles-masks-on-device", MMA_TILES_KERNELS, "masks + 2 * tile + in_tile / 32", "masks + 2 * tile",
           ("emulated_mma_tiles_test",)),
    Mutant("choose-spreading-kernel", CHOICE_CPP, "const bool suits = k.info.stored_entries_only &&",
           "const bool suits =", ("nonfinite_test",), in_cuda_tables=True),
    Mutant("emulated-own-wait", EMULATOR, "if (!watching_ || !begins_early_ || current_->has_waited) return;",
           "if (!watching_ || !begins_early_ || someone_waited_) return;", EMULATED_GPU),
    Mutant("emulated-lasting-loads", EMULATOR, "if (!watching_ || !begins_early_ || is_settled(address, bytes)) return;",
           "if (!watching_ || !begins_early_ || current_->has_waited || is_settled(address, bytes)) return;",
           EMULATED_GPU),
    Mutant("emulated-early-copies", EMULATOR, "  if (present > 0) gpu().check_early(from,",
           "  if (present > 16) gpu().check_early(from,", EMULATED_GPU),
    # --- an iteration in one kernel ---
    Mutant("advance-old-round", ADVANCE, "static_cast<std::uint32_t>(*posts.round + 1);",
           "static_cast<std::uint32_t>(*posts.round);", EMULATED_VECTOR),
    Mutant("advance-staged", ADVANCE, "  shared.staged[1][t] = mine.second;\n  __syncthreads();\n",
           "  shared.staged[1][t] = mine.second;\n", EMULATED_VECTOR),
    Mutant("advance-all-write", ADVANCE, "  if (blockIdx.x != 0) return;\n", "", EMULATED_VECTOR),
    Mutant("advance-arrived-turns", ADVANCE, "shared.turns[own] = column.state == column_state::active;",
           "shared.turns[own] = true;", EMULATED_VECTOR),
    Mutant("advance-left-over", ADVANCE, "t / k < step ? min(", "true ? min(", EMULATED_VECTOR),
    Mutant("advance-apart", ADVANCE, "return core::start_together(", "return core::start(", EMULATED_VECTOR),
    # --- p.q left behind by products ---
    Mutant("advance-curvature", STEPS, "rz + s.beta[j] * s.beta[j] * s.pp[j]", "rz + s.beta[j] * s.pp[j]",
           EMULATED_VECTOR),
    Mutant("advance-dots-end", ADVANCE, "(pq.rows + gridDim.x - 1) / gridDim.x", "pq.rows / gridDim.x", EMULATED_VECTOR),
    Mutant("row-dots-begin", ROW_DOTS, "double sum = begins ? 0 : own(i);", "double sum = own(i);", EMULATED_ROWWISE),
    Mutant("row-dots-teams", ROW_DOTS, "distance < 32; distance *= 2", "distance < 16; distance *= 2", EMULATED_ROWWISE),
    Mutant("row-dots-room", ROWWISE, "args.dots.take(cut.num_chunks * config.warps, args.n)",
           "args.dots.take(cut.num_chunks, args.n)", EMULATED_ROWWISE),
    Mutant("mma-dots-order", MMA_DOTS, "args.a.row_of != nullptr ? args.a.row_of[stored] : stored", "stored", EMULATED_MMA),
    Mutant("mma-dots-rows", MMA_DOTS, "      if (m >= item.num_rows) continue;\n", "", EMULATED_MMA),
    # --- conversion on the device ---
    Mutant("device-keys", DEVICE, "row_of[k] / m_block * cols + col_of[k]",
           "row_of[k] / m_block * (cols - 1) + col_of[k]", DEVICE_CHECKS),
    Mutant("device-block-maximum", DEVICE, "m_block < rows - first ? first + m_block : rows;",
           "m_block < rows - first ? first + m_block - 1 : rows;", DEVICE_CHECKS),
    Mutant("device-new-column", DEVICE, "if (k == 0 || cols[k] != cols[k - 1] ||",
           "if (k == 0 || cols[k] > cols[k - 1] + 1 ||", DEVICE_CHECKS),
    Mutant("device-most-columns", DEVICE, "return {count, count};", "return {count, 1};", DEVICE_CHECKS),
    # --- packing and CG's vectors ---
    Mutant("pack-transpose", PACK, "to[along_cols(i)] = tile[lane][i];", "to[along_cols(i)] = tile[i][lane];", KERNELS),
    Mutant("pack-tile-row", PACK, "index - down * sizes.blocks_across;", "index;", PLAN),
    Mutant("cuda-cg-block-sum", "kernels/vector/passes.cuh", "of_threads[i][here + half * blockDim.x];",
           "of_threads[i][here + half];", ("emulated_vector_ops_test",)),
    Mutant("cuda-cg-partials-row", VECTOR_CUDA, "return (i * chunks + chunk) * s.k;", "return (i * chunks + chunk) * 4;",
           ("emulated_vector_ops_test",)),
    Mutant("cuda-cg-summed-column", VECTOR_CUDA, "static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }",
           "static_cast<std::int64_t>(blockIdx.x) * summed_columns; }", ("emulated_vector_ops_test",)),
    Mutant("cuda-cg-turn-of-other-sums", VECTOR_CUDA, "turn_column(scalars, summed_column(), sum[0], 0);",
           "turn_column(scalars, summed_column(), 2 * sum[0], 0);", ("emulated_vector_ops_test",)),
    Mutant("cuda-dots-of-a-cut-grid", "kernels/vector/elementwise.cuh", "row == blockIdx.x ? sum[e] : 0;", "sum[e];",
           ("emulated_block_ops_test",)),
    Mutant("cuda-dots-with-another", "kernels/vector/elementwise.cuh", "(r + i * ldr + j * Wide);", "(r + i * ldy + j);",
           ("emulated_block_ops_test",)),
    Mutant("cuda-cg-residual-sign", VECTOR_CUDA, "static_cast<double>(old.r) - alpha *",
           "static_cast<double>(old.r) + alpha *", VECTOR),
    Mutant("amg-uniform-scale", "lib/solvers/amg_cycle.cpp", "factor.value *= *uniform_scale_;", ";", AMG),
    Mutant("cuda-cg-step-into-rest", VECTOR_CUDA, "if (!writes && !moves) return;", "if (!writes) return;",
           ("emulated_vector_ops_test",)),
    Mutant("two-steps-one-taken", ADVANCE, "step_along(step_along(old.x, alpha_before, old.before), alpha, old.p)",
           "step_along(old.x, alpha, old.p)", ("emulated_vector_ops_test",)),
    Mutant("two-steps-resting-direction", ADVANCE, "rows.way.next[at] = turns ? turned : old.p;",
           "if (turns) rows.way.next[at] = turned;", ("emulated_vector_ops_test",)),
    Mutant("two-steps-alpha-forgotten", "kernels/vector/column_steps.hpp", "s.alpha_before[j] = s.alpha[j];",
           "s.alpha_before[j] = 0;", ("emulated_vector_ops_test",)),
    Mutant("two-steps-apart-one-taken", VECTOR_CUDA, "Twice ? scalars.alpha_before[j] : 0;", "0;",
           ("emulated_vector_ops_test",)),
    Mutant("two-steps-apart-resting-direction", VECTOR_CUDA, "writes = turns || way.next != way.p;", "writes = turns;",
           ("emulated_vector_ops_test",)),
    Mutant("two-steps-first-lost", "lib/solvers/simultaneous_cg.cpp", "{second_p_.data(), p_.data(), p_.data()}",
           "{second_p_.data(), p_.data()}", ("cg_beyond_l2_test",)),
    Mutant("two-steps-cpu", VECTOR_CPU, "if (before != nullptr) take(", "if (false) take(", VECTOR),
    Mutant("cuda-cg-direction-sign", VECTOR_CUDA, "z + beta * static_cast<double>(old.p)",
           "z - beta * static_cast<double>(old.p)", VECTOR),

    # --- The C interface's solvers ---
    Mutant("capi-older-struct", CAPI_GUARD, "std::memcpy(&ours, bytes, std::min(given->size, sizeof(Struct)));",
           "std::memcpy(&ours, bytes, sizeof(Struct));", CAPI_CG),
    Mutant("capi-cg-beta", CAPI_SOLVERS, "made.beta = enumerator(", "(void)enumerator(", CAPI_CG),
    Mutant("amg-forgets-correction", "lib/solvers/amg_cycle.cpp", "level.prolongation->run(1, below.x, 1, here.x",
           "level.prolongation->run(0, below.x, 1, here.x", AMG),
    Mutant("amg-forgets-rest-below", "lib/solvers/amg_cycle.cpp", "if (missing != 0) {", "if (false) {", AMG),
    Mutant("amg-forgets-rest", "lib/solvers/amg_cycle.cpp", "  return level.smoother[0];", "  return 0;", AMG),
    Mutant("sum-forgets-second", "kernels/vector/elementwise.cuh", "static_cast<double>(x) + g * static_cast<double>(w)",
           "static_cast<double>(x)", EMULATED_BLOCK_OPS),
    Mutant("sum-forgets-second-cpu", BLOCK_CPU, "if (HasW) sum +=", "if (false) sum +=", BLOCK_OPS),
    Mutant("sum-forgets-weights-cpu", BLOCK_CPU, "add(first, (last - first) * y.cols, alpha, weights_from(d, first))",
           "add(first, (last - first) * y.cols, alpha, d)", BLOCK_OPS),
    Mutant("sum-takes-gaps-cpu", BLOCK_CPU, "is_packed(y) && (!HasX || is_packed(of.x))", "(!HasX || is_packed(of.x))",
           BLOCK_OPS),
    Mutant("rows-take-gaps", ROWS_ISA, "lanes(cols - (Vectors - 1) * width<double>)", "lanes(1)", BLOCK_OPS),
    Mutant("rows-lose-rows", ROWS_ISA, "rows >= Rows; rows -= Rows", "rows > Rows; rows -= Rows", BLOCK_OPS),
    Mutant("rows-forget-panels", ROWS_ISA, ".fresh = row == 0}", ".fresh = true}", BLOCK_OPS),
    Mutant("rows-forget-strips", ROWS_ISA, "      is_fresh_ = false;\n", "", BLOCK_OPS),
    Mutant("rows-weigh-askew", ROWS_ISA, "const T* const weights = d != nullptr ? d + row : nullptr;",
           "const T* const weights = d;", BLOCK_OPS),
    Mutant("rows-keep-y", ROWS_ISA, "if (beta == 1) return;", "if (beta != 0) return;", BLOCK_OPS),
    Mutant("rows-leave-y", ROWS_ISA, "if (in_place && !is_fresh_) return;", "if (in_place) return;", BLOCK_OPS),
    Mutant("rows-take-s-askew", ROWS_ISA, "nullptr, r + b, y.cols);", "nullptr, r, y.cols);", BLOCK_OPS),
    Mutant("block-cg-takes-answers-askew", "lib/solvers/small_exchange.cpp", "  taken_ += values;\n", "", CG_METHODS),
    Mutant("block-cg-forgets-weights", "lib/solvers/block_cg.cpp", "stores_m() ? mw_ : w_, jacobi_, s_, p_, f);",
           "stores_m() ? mw_ : w_, nullptr, s_, p_, f);", CG_METHODS),
    Mutant("block-cg-swaps-inner-products", "lib/solvers/block_cg.cpp", "return stores_m() ? second : first;",
           "return stores_m() ? first : second;", CG_METHODS),
    Mutant("block-cg-loses-old-lengths", "lib/solvers/block_cg.cpp",
           "    p_gram_ = transposed(kept) * p_gram_ * kept;\n", "    p_gram_ = coefficients(rank_, rank_);\n", CG_METHODS),
    Mutant("recombine-swaps-rows", RECOMBINE, "const double a[4] = {y[0], y[2], y[1], y[3]};",
           "const double a[4] = {y[0], y[1], y[2], y[3]};", EMULATED_BLOCK_OPS),
    Mutant("recombine-takes-columns-askew", RECOMBINE, "const int k = 4 * t + 2 * step;", "const int k = 2 * t + 8 * step;",
           EMULATED_BLOCK_OPS),
    Mutant("recombine-forgets-warps", RECOMBINE, "for (int w = 0; w < recombine_warps; ++w) sum +=",
           "for (int w = 1; w < recombine_warps; ++w) sum +=", EMULATED_BLOCK_OPS),
    Mutant("recombine-measures-rows-twice", RECOMBINE, "x.read(first + row, row < end, 4 * t, next.x);",
           "x.read(first + row, first + row < n, 4 * t, next.x);", EMULATED_BLOCK_OPS),
    Mutant("row-rounding-passes-nothing-on", "lib/solvers/row_rounding.cpp", "std::clamp(error, -unit, unit)", "0.0",
           ROW_ROUNDING),
    Mutant("row-rounding-mixes-unknowns", "lib/solvers/row_rounding.cpp", "(columns[k]) % of_a_node", "(columns[k]) % 1",
           ROW_ROUNDING),
    Mutant("check-never-looks-around", "lib/tune/trials.hpp", "if (is_of_another_algorithm(name)) enter",
           "if (false) enter", TUNED),
    Mutant("capi-cg-check-every", CAPI_SOLVERS, "  made.check_every = given.check_every;\n", "", CAPI_CG),
    Mutant("capi-cg-recurrence", CAPI_SOLVERS, "largest(result.recurrence_residual)", "largest(result.true_residual)",
           CAPI_CG),
    Mutant("capi-cg-text-end", CAPI_SOLVERS, "asked.inner_text_bytes - 1", "asked.inner_text_bytes", CAPI_CG),
    Mutant("capi-cg-matrix-preconditioner", CAPI_SOLVERS, "m.m || m.rounded ? solve_cg(ctx, a, m, b, x, how)",
           "false ? solve_cg(ctx, a, m, b, x, how)", CAPI_CG),
    Mutant("capi-cg-two-preconditioners", CAPI_SOLVERS, "if (diagonal != nullptr) {", "if (false) {", CAPI_CG),
    Mutant("capi-amg-modes", CAPI_PRECONDITIONERS_CPP, "    made.near_nullspace = modes.view();\n", "",
           CAPI_PRECONDITIONERS),
    Mutant("capi-chebyshev-degree", CAPI_PRECONDITIONERS_CPP, "if (given.degree != 0) made.degree = given.degree;", "",
           CAPI_PRECONDITIONERS),

    # --- Generated matrices, the catalogue ---
    Mutant("elasticity-one-body", "matrices/elasticity.cpp", "dof > 3 ? 2 : 1", "1", GENERATE),
    Mutant("elasticity-axis-of-unknown", "matrices/elasticity.cpp", "const std::size_t i = a % 3, j = b % 3;",
           "const std::size_t i = a / 2, j = b / 2;", GENERATE),
    Mutant("nm-last-group", "matrices/nm.cpp", "std::int64_t wanted = std::min(n, end - group);",
           "std::int64_t wanted = n;", GENERATE),
    Mutant("hypersparse-duplicates", "matrices/hypersparse.cpp",
           "    places.erase(std::unique(places.begin(), places.end()), places.end());\n", "", GENERATE),
    Mutant("spd-largest", "matrices/spd.cpp", "if (drawn <= largest) return drawn;", "return drawn;", GENERATE),
    Mutant("spd-sign", "matrices/spd.cpp", "index < other ? number : -number", "number", GENERATE),
    Mutant("blocks-one-way", "matrices/blocks.cpp", "      graph.coupled.emplace_back(other, own);\n", "", GENERATE),
    Mutant("blocks-not-dominant", "matrices/blocks.cpp", "sum += std::abs(values[entry]);", "sum += values[entry];", GENERATE),
    Mutant("catalogue-number", "matrices/catalogue.cpp", "all[static_cast<std::size_t>(*number - 1)]",
           "all[static_cast<std::size_t>(*number) % all.size()]", CATALOGUE),
    Mutant("catalogue-range-end", "matrices/catalogue.cpp", "number <= limits.most", "number < limits.most", CATALOGUE),
]

assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
