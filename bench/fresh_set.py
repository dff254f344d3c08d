#!/usr/bin/env python3
"""Draws sets of matrices as Matrix Market files and a manifest: `fresh`, which nothing was fitted to or developed on, and
`kin`, the families of `fresh` at other sizes, which the choice learns from.

    bench/fresh_set.py FOLDER                # the whole set, NAME.mtx each, and FOLDER/manifest.json
    bench/fresh_set.py FOLDER --seed 7       # the same families and sizes, drawn anew
    bench/fresh_set.py FOLDER --set kin      # the same families at other sizes: the choice learns from them
    bench/fresh_set.py FOLDER --only arrow fresh1_hypercube_16
    bench/fresh_set.py --list

Nearly all families are other than those of `bcsc generate`. The files hold patterns: `bcsc bench` draws the values. A matrix
depends on its seed alone, which is an integer, and is made by integer and correctly rounded arithmetic on numbers of
Mersenne Twister, so that its checksum is the same everywhere: SHA-256 over rows, cols and all row * cols + col in ascending
order, as 64-bit little-endian integers. Needs numpy.
"""
import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import sys
import time

import numpy as np

# --- Families: each gives (rows, cols, row indices, column indices), in any order and with repetitions -------------------


def ranges(first, count):
    """The ranges first[k], first[k] + 1, ... of count[k] numbers, one behind the other, and k of each number."""
    owner = np.repeat(np.arange(len(count)), count)
    return np.arange(len(owner)) - (np.cumsum(count) - count)[owner] + first[owner], owner


def every_row(rows, degree):
    return np.repeat(np.arange(rows), degree)


def both_ways(rows, i, j):
    """An undirected graph's edges, and its diagonal."""
    all_rows = np.arange(rows)
    return rows, rows, np.concatenate([i, j, all_rows]), np.concatenate([j, i, all_rows])


def skewed(rng, size, count, power):
    """Numbers below `size`, small ones far more often; then all are renamed."""
    u = rng.random_sample(count)
    x = u
    for _ in range(power - 1):
        x = x * u
    return rng.permutation(size)[(x * size).astype(np.int64)]


def rectangular(rng, rows, cols, degree):
    """Each row holds `degree` entries anywhere."""
    return rows, cols, every_row(rows, degree), rng.randint(cols, size=rows * degree)


def dense_blocks(rng, rows, least, most, degree):
    """Dense blocks of `least` to `most` rows and columns, `degree` in each row of blocks, not aligned to anything."""
    def cut():
        ends = np.cumsum(rng.randint(least, most + 1, size=rows // least + 1))
        ends = np.append(ends[ends < rows], rows)
        return np.concatenate([[0], ends[:-1]]), np.diff(ends, prepend=0)
    (top, height), (left, width) = cut(), cut()
    block_row = every_row(len(top), degree)
    block_col = rng.randint(len(left), size=len(block_row))
    i, block = ranges(top[block_row], height[block_row])
    j, line = ranges(left[block_col][block], width[block_col][block])
    return rows, rows, i[line], j


def hypersparse(rng, rows, cols, entries):
    """Less than one entry a row."""
    return rows, cols, rng.randint(rows, size=entries), rng.randint(cols, size=entries)


def sparse_band(rng, rows, half_width, degree):
    """A wide band, sparse inside."""
    i = every_row(rows, degree)
    j = i + rng.randint(-half_width, half_width + 1, size=len(i))
    inside = (j >= 0) & (j < rows)
    return rows, rows, i[inside], j[inside]


def toeplitz(rng, rows, diagonals, reach):
    """A few full diagonals, far from each other."""
    offsets = rng.randint(-reach, reach + 1, size=diagonals)
    i = every_row(rows, diagonals)
    j = i + np.tile(offsets, rows)
    inside = (j >= 0) & (j < rows)
    return rows, rows, i[inside], j[inside]


def narrow_band(rng, rows, half_width):
    """A band of a few diagonals, of which each row holds a run of its own length."""
    all_rows = np.arange(rows)
    first = np.maximum(all_rows - rng.randint(half_width + 1, size=rows), 0)
    last = np.minimum(all_rows + rng.randint(half_width + 1, size=rows), rows - 1)
    j, i = ranges(first, last - first + 1)
    return rows, rows, i, j


def arrow(_, rows, width, half_width):
    """A full band, the first `width` rows and the first `width` columns."""
    i = every_row(rows, 2 * half_width + 1)
    j = i + np.tile(np.arange(-half_width, half_width + 1), rows)
    inside = (j >= 0) & (j < rows)
    long, short = np.tile(np.arange(rows), width), every_row(width, rows)
    return rows, rows, np.concatenate([i[inside], long, short]), np.concatenate([j[inside], short, long])


def bordered_blocks(rng, blocks, size, border, degree):
    """Square blocks along the diagonal, and a border that links them: `degree` entries per row in each."""
    inner = blocks * size
    i = every_row(inner, degree)
    j = i // size * size + rng.randint(size, size=len(i))
    link = inner + rng.randint(border, size=inner)
    all_rows = np.arange(inner)
    corner = inner + np.arange(border)
    return inner + border, inner + border, np.concatenate([i, all_rows, link, corner]), np.concatenate(
        [j, link, all_rows, corner])


def small_world(rng, nodes, neighbours, rewired):
    """Watts and Strogatz: a ring, each node linked with `neighbours` on either side; `rewired` percent end anywhere."""
    i = every_row(nodes, neighbours)
    j = (i + np.tile(np.arange(1, neighbours + 1), nodes)) % nodes
    elsewhere = rng.randint(100, size=len(i)) < rewired
    return both_ways(nodes, i, np.where(elsewhere, rng.randint(nodes, size=len(i)), j))


def preferential(rng, nodes, degree):
    """Barabasi and Albert: each new node links with `degree` ends of edges that are there, by Batagelj and Brandes."""
    edges = nodes * degree
    # End 2 k of edge k is its node; end 2 k + 1 copies an earlier end, which may be a copy itself.
    end = (rng.random_sample(edges) * (2 * np.arange(edges) + 1)).astype(np.int64)
    while (copies := end % 2 == 1).any():
        end[copies] = end[end[copies] // 2]
    return both_ways(nodes, every_row(nodes, degree), end // 2 // degree)


def communities(rng, nodes, groups, inside, outside):
    """A stochastic block model: each node has `inside` partners in its group and `outside` anywhere."""
    size = nodes // groups
    i = every_row(nodes, inside)
    near = np.minimum(i // size * size + rng.randint(size, size=len(i)), nodes - 1)
    far = every_row(nodes, outside)
    return both_ways(nodes, np.concatenate([i, far]), np.concatenate([near, rng.randint(nodes, size=len(far))]))


def kronecker(rng, size, entries, power):
    """The Kronecker power of one small pattern."""
    cells = rng.permutation(size * size)[:entries]
    i, j = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for _ in range(power):
        i = (i[:, None] * size + cells // size).ravel()
        j = (j[:, None] * size + cells % size).ravel()
    return size ** power, size ** power, i, j


def permuted_mesh(rng, nx, ny, unknowns):
    """A triangulated rectangle with `unknowns` a node, the nodes in no order."""
    x, y = np.arange(nx * ny) % nx, np.arange(nx * ny) // nx
    name = rng.permutation(nx * ny)
    i, j = [], []
    for dx, dy in [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)]:
        inside = (x + dx >= 0) & (x + dx < nx) & (y + dy >= 0) & (y + dy < ny)
        i.append(name[np.flatnonzero(inside)])
        j.append(name[np.flatnonzero(inside) + dx + nx * dy])
    i, j = np.concatenate(i) * unknowns, np.concatenate(j) * unknowns
    dof = np.arange(unknowns)
    rows = nx * ny * unknowns
    return rows, rows, np.broadcast_to((i[:, None] + dof)[:, :, None], (len(i), unknowns, unknowns)).ravel(), (
        np.broadcast_to((j[:, None] + dof)[:, None, :], (len(j), unknowns, unknowns)).ravel())


def geometric(rng, nodes, degree):
    """Points in the unit square, linked where they are near: about `degree` neighbours each, numbered cell by cell."""
    radius2 = degree / (3.14159 * nodes)
    cells = int(1 / math.sqrt(radius2))
    x, y = rng.random_sample((2, nodes))
    cell = (y * cells).astype(np.int64) * cells + (x * cells).astype(np.int64)
    order = np.argsort(cell, kind="stable")
    x, y, cell = x[order], y[order], cell[order]
    start = np.searchsorted(cell, np.arange(cells * cells + 1))
    i, j = [], []
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            inside = (cell % cells + dx >= 0) & (cell % cells + dx < cells) & (cell // cells + dy >= 0) & (
                cell // cells + dy < cells)
            here = np.flatnonzero(inside)
            there = cell[here] + dx + cells * dy
            other, owner = ranges(start[there], start[there + 1] - start[there])
            mine = here[owner]
            near = (x[mine] - x[other]) ** 2 + (y[mine] - y[other]) ** 2 <= radius2
            i.append(mine[near])
            j.append(other[near])
    return nodes, nodes, np.concatenate(i), np.concatenate(j)


def staircase(rng, stages, rows, cols, degree):
    """A linear programme over time: the rows of a stage hold columns of this stage and of the next."""
    i = every_row(stages * rows, degree)
    j = i // rows * cols + rng.randint(2 * cols, size=len(i))
    return stages * rows, (stages + 1) * cols, i, j


def popular_columns(rng, rows, cols, degree):
    """Rows of equal length; columns by a power law."""
    return rows, cols, every_row(rows, degree), skewed(rng, cols, rows * degree, 3)


def heavy_rows(rng, rows, cols, entries):
    """Rows by a power law; columns alike."""
    return rows, cols, skewed(rng, rows, entries, 3), rng.randint(cols, size=entries)


def ratings(rng, users, items, entries):
    """Users and items both by a power law."""
    return users, items, skewed(rng, users, entries, 2), skewed(rng, items, entries, 2)


def weights(rng, rows, cols):
    """A layer's magnitudes: nearly normal, with rows and columns of different scale."""
    near_normal = rng.random_sample((rows, cols)) + rng.random_sample((rows, cols)) + rng.random_sample((rows, cols)) - 1.5
    return np.abs(near_normal) * (0.5 + rng.random_sample((rows, 1))) * (0.5 + rng.random_sample((1, cols)))


def pruned(rng, rows, cols, permille):
    """A layer of which the largest weights are kept."""
    magnitude = weights(rng, rows, cols).ravel()
    kept = rows * cols * permille // 1000
    at = np.argpartition(magnitude, len(magnitude) - kept)[-kept:]
    return rows, cols, at // cols, at % cols


def pruned_groups(rng, rows, cols, n, m):
    """A layer of which the n largest of every m weights of a row are kept."""
    magnitude = weights(rng, rows, cols).reshape(-1, m)
    at = np.arange(len(magnitude))[:, None] * m + np.argsort(-magnitude, axis=1, kind="stable")[:, :n]
    return rows, cols, at.ravel() // cols, at.ravel() % cols


def hypercube(_, dimensions):
    """Each row is linked with those whose numbers differ in one bit."""
    rows = 2 ** dimensions
    i = every_row(rows, dimensions)
    return rows, rows, np.concatenate([i, np.arange(rows)]), np.concatenate(
        [i ^ np.tile(2 ** np.arange(dimensions), rows), np.arange(rows)])


def voxels(rng, side, percent):
    """A 27-point stencil on the cells of a cube that are there."""
    there = rng.randint(100, size=side ** 3) < percent
    name = np.cumsum(there) - 1
    at = np.flatnonzero(there)
    x, y, z = at % side, at // side % side, at // side ** 2
    i, j = [], []
    for step in range(27):
        dx, dy, dz = step % 3 - 1, step // 3 % 3 - 1, step // 9 - 1
        inside = ((x + dx >= 0) & (x + dx < side) & (y + dy >= 0) & (y + dy < side) & (z + dz >= 0) & (z + dz < side))
        other = at[inside] + dx + side * dy + side ** 2 * dz
        linked = there[other]
        i.append(name[at[inside][linked]])
        j.append(name[other[linked]])
    return len(at), len(at), np.concatenate(i), np.concatenate(j)


def factor(rng, rows, degree):
    """A lower triangle whose rows grow from 1 entry to about `degree`, as elimination fills them."""
    count = 1 + np.arange(rows) * degree // rows
    _, i = ranges(np.zeros(rows, np.int64), count)
    j = i - np.minimum((rng.random_sample(len(i)) * rng.random_sample(len(i)) * (i + 1)).astype(np.int64), i)
    return rows, rows, np.concatenate([i, np.arange(rows)]), np.concatenate([j, np.arange(rows)])


# --- The set -------------------------------------------------------------------------------------------------------------

# Family: the parameters of each of its matrices.
SET = {
    rectangular: [(200000, 2000, 8), (2000, 200000, 600), (60000, 500, 20)],
    dense_blocks: [(60000, 3, 3, 8), (40000, 5, 5, 6), (20000, 7, 11, 6), (12000, 16, 40, 3)],
    hypersparse: [(500000, 500000, 200000), (300000, 50000, 100000), (60000, 60000, 15000)],
    sparse_band: [(100000, 2000, 20), (8000, 1000, 200)],
    toeplitz: [(100000, 9, 3000), (20000, 41, 8000)],
    narrow_band: [(150000, 4), (20000, 60)],
    arrow: [(40000, 3, 1), (10000, 20, 3)],
    bordered_blocks: [(400, 50, 100, 15), (2000, 20, 50, 6)],
    small_world: [(100000, 5, 10), (30000, 16, 2)],
    preferential: [(80000, 8), (20000, 30)],
    communities: [(60000, 40, 20, 4), (120000, 1000, 6, 2)],
    kronecker: [(4, 6, 8), (3, 5, 9), (5, 9, 6)],
    permuted_mesh: [(150, 150, 3), (400, 300, 1), (60, 60, 6)],
    geometric: [(60000, 12), (20000, 40)],
    staircase: [(200, 100, 150, 8), (50, 800, 1000, 12)],
    popular_columns: [(100000, 100000, 10), (30000, 5000, 40)],
    heavy_rows: [(50000, 50000, 800000), (200000, 100000, 2000000)],
    ratings: [(100000, 5000, 2000000), (20000, 20000, 1000000)],
    pruned: [(2048, 2048, 100), (4096, 1024, 50), (3072, 3072, 20)],
    pruned_groups: [(2048, 2048, 2, 4), (2048, 8192, 1, 8)],
    hypercube: [(16,)],
    voxels: [(56, 30), (72, 70)],
    factor: [(30000, 80), (6000, 400)],
}
# At none of the sizes above: from half to twice as large, as a rule.
KIN = {
    rectangular: [(120000, 3000, 10), (3000, 120000, 300), (30000, 800, 14), (90000, 400, 30)],
    dense_blocks: [(30000, 3, 3, 12), (80000, 4, 6, 5), (25000, 6, 9, 8), (8000, 20, 50, 2), (50000, 5, 5, 9),
                   (20000, 5, 5, 4)],
    hypersparse: [(300000, 300000, 100000), (200000, 30000, 150000), (30000, 30000, 10000)],
    sparse_band: [(50000, 1000, 30), (16000, 2000, 100), (200000, 4000, 12)],
    toeplitz: [(60000, 15, 2000), (30000, 27, 12000), (12000, 61, 5000), (150000, 7, 6000)],
    narrow_band: [(80000, 6), (12000, 40), (30000, 80), (10000, 90)],
    arrow: [(20000, 8, 2), (15000, 12, 4), (6000, 30, 3), (60000, 2, 2)],
    bordered_blocks: [(800, 30, 60, 10), (1000, 40, 80, 8), (3000, 12, 40, 5)],
    small_world: [(60000, 8, 5), (20000, 12, 3), (40000, 20, 1), (15000, 24, 4)],
    preferential: [(40000, 12), (30000, 20), (120000, 5)],
    communities: [(40000, 60, 15, 6), (80000, 500, 8, 3), (150000, 2000, 5, 2), (30000, 30, 30, 5)],
    kronecker: [(3, 4, 10), (3, 5, 8), (4, 7, 7), (6, 12, 5), (5, 8, 6)],
    permuted_mesh: [(100, 100, 3), (300, 200, 1), (40, 50, 6), (80, 80, 5), (70, 60, 4)],
    geometric: [(30000, 20), (15000, 30), (40000, 35), (10000, 60)],
    staircase: [(100, 150, 200, 10), (80, 500, 700, 8), (300, 60, 90, 12)],
    popular_columns: [(60000, 60000, 14), (20000, 8000, 30), (50000, 3000, 20)],
    heavy_rows: [(30000, 30000, 500000), (120000, 80000, 1500000)],
    ratings: [(60000, 4000, 1000000), (15000, 15000, 600000)],
    pruned: [(1536, 2048, 120), (2048, 4096, 60), (4096, 2048, 30), (1024, 1024, 100), (2560, 2560, 80)],
    pruned_groups: [(1536, 3072, 2, 4), (4096, 2048, 1, 8)],
    hypercube: [(15,), (17,)],
    voxels: [(40, 50), (64, 40), (50, 80), (60, 25)],
    factor: [(15000, 120), (10000, 250), (4000, 300), (20000, 60)],
}
# Of each set the families, and where its matrices' own seeds begin.
SETS = {"fresh": (SET, 0), "kin": (KIN, 500)}


def recipes(seed=1, of="fresh"):
    """{name: (family, parameters, the matrix's own seed)}"""
    families, first = SETS[of]
    drawn = [(family, parameters) for family, variants in families.items() for parameters in variants]
    return {"_".join([f"{of}{seed}", family.__name__, *map(str, parameters)]): (family, parameters, 1000 * seed + first + k)
            for k, (family, parameters) in enumerate(drawn)}


def draw(recipe):
    """(rows, cols, all row * cols + col in ascending order)"""
    family, parameters, seed = recipe
    # The generator whose numbers numpy keeps as they are from version to version.
    rows, cols, i, j = family(np.random.RandomState(seed), *parameters)
    return rows, cols, np.unique(i.astype(np.int64) * cols + j)


def checksum(rows, cols, entries):
    hashed = hashlib.sha256(np.array([rows, cols], "<i8").tobytes())
    hashed.update(entries.astype("<i8").tobytes())
    return hashed.hexdigest()


# --- Files ---------------------------------------------------------------------------------------------------------------


def put_numbers(text, numbers):
    """Writes each number into its line of `text`, right-aligned."""
    rest = numbers.copy()
    for column in range(text.shape[1] - 1, -1, -1):
        left = rest // 10
        text[:, column] = np.where((rest > 0) | (column == text.shape[1] - 1), rest - 10 * left + ord("0"), ord(" "))
        rest = left


def write_mtx(path, rows, cols, entries):
    """In bulk: lines of one length, their numbers right-aligned."""
    row_width, col_width = len(str(rows)), len(str(cols))
    with open(path, "wb") as file:
        file.write(f"%%MatrixMarket matrix coordinate pattern general\n{rows} {cols} {len(entries)}\n".encode())
        for at in range(0, len(entries), 1 << 20):
            some = entries[at:at + (1 << 20)]
            text = np.full((len(some), row_width + 1 + col_width + 1), ord(" "), np.uint8)
            put_numbers(text[:, :row_width], some // cols + 1)
            put_numbers(text[:, row_width + 1:-1], some % cols + 1)
            text[:, -1] = ord("\n")
            file.write(text.tobytes())


def make(folder, name, recipe):
    """Draws and writes one matrix; its line of the manifest."""
    family, parameters, seed = recipe
    rows, cols, entries = draw(recipe)
    write_mtx(folder / f"{name}.mtx", rows, cols, entries)
    return {"name": name, "family": family.__name__, "parameters": list(parameters), "seed": seed, "rows": rows,
            "cols": cols, "nnz": len(entries), "checksum": checksum(rows, cols, entries)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, metavar="FOLDER", help="is made if it does not exist")
    parser.add_argument("--set", choices=SETS, default="fresh", help="which (default fresh)")
    parser.add_argument("--seed", type=int, default=1, help="of the whole set (default 1)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="families or matrices")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="matrices drawn at a time (default: all cores)")
    parser.add_argument("--list", action="store_true", help="say what would be drawn")
    options = parser.parse_args()
    wanted = {name: recipe for name, recipe in recipes(options.seed, options.set).items()
              if not options.only or {name, recipe[0].__name__} & set(options.only)}
    unknown = set(options.only or []) - set(wanted) - {recipe[0].__name__ for recipe in wanted.values()}
    if unknown:
        sys.exit(f"no family or matrix is called {', '.join(sorted(unknown))}: see --list")
    if options.list:
        print("\n".join(wanted))
        return
    if options.folder is None:
        parser.error("FOLDER is missing")
    options.folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        made = list(pool.map(make, [options.folder] * len(wanted), wanted, wanted.values()))
    (options.folder / "manifest.json").write_text(json.dumps({"seed": options.seed, "matrices": made}, indent=1) + "\n")
    print(f"{options.folder}: {len(made)} matrices of {len({m['family'] for m in made})} families, "
          f"{sum(m['nnz'] for m in made)} non-zeros, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
