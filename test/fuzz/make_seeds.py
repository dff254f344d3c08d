#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets: small valid files of each variant, into corpus/TARGET beside this script.

The first byte of each chooses options and types (fuzz.hpp): 1 real part, 2 seeded pattern, 4 index base given (8: it is 1),
16 fp64, 32 64-bit indices; what 64 and 128 mean, and 16 and 32 to the container, is in each target. Matrix Market's seeds were written by hand.
"""
import gzip
import pathlib
import struct
import zipfile
import zlib

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "unit/data"


def seed(target, name, flags, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(bytes([flags]) + (content.encode() if isinstance(content, str) else content))


def zipped_text(text):
    return gzip.compress(text.encode(), 9, mtime=0)


def tar_of(name, text):
    """One file, without the blocks of zeros that may follow."""
    content = text.encode()
    head = bytearray(512)
    for at, field in ((0, name), (100, "0000644"), (108, "0000000"), (116, "0000000"), (124, f"{len(content):011o}"),
                      (136, "00000000000"), (148, " " * 8), (156, "0"), (257, "ustar"), (263, "00")):
        head[at:at + len(field)] = field.encode()
    head[148:156] = f"{sum(head):06o}\0 ".encode()
    return bytes(head) + content.ljust(-(-len(content) // 512) * 512, b"\0")


def smtx():
    plain = "3, 4, 5\n0 2 2 5\n1 3 0 1 2\n"
    seed("smtx", "plain", 0, plain)
    seed("smtx", "seeded", 0x32, plain.replace(" ", ","))
    seed("smtx", "unsorted_columns", 16, "2,4,4\r\n0,3,4\r\n3,0,2,1")
    seed("smtx", "no_entries", 0, "2, 3, 0\n0 0 0\n")
    seed("smtx", "nothing", 32, "0, 0, 0\n0\n\n")
    seed("smtx", "gzip", 0, zipped_text(plain))


def libsvm():
    plain = "+1 1:0.5 3:-2e3 7:1\n-1 2:.25\n\n0 # empty\n1.5 qid:3 1:1 2:3.\n"
    seed("libsvm", "plain", 0, plain)
    seed("libsvm", "labels", 0x80 | 16, plain)
    seed("libsvm", "from_0", 4, "0 0:1 4:2\n# comment\n1 1:1e-400\n")
    seed("libsvm", "five_columns", 0x40 | 32 | 12, "1 1:1 5:2\r\n-1\t2:3\r\n")
    seed("libsvm", "cut", 0x30, "1 1:123456789012345678901e-9 9223372036854775807:1")
    seed("libsvm", "gzip", 0, zipped_text(plain))


def edge_list():
    seed("edge_list", "pattern", 2, "# Nodes: 7 Edges: 4\n1 2\n3 1\n3 1\n5\t6\n")
    seed("edge_list", "values", 16, "% comment\n0 1 0.5\n2 0 -1e3\n2 0 4\n1 1 .125\n")
    seed("edge_list", "commas", 0x24, "0,1,3\n2, 2 ,-0\n")
    seed("edge_list", "sizes", 0, "#Rows: 5 Cols: 4 Edges: 2\n\n1 4 1\r\n5 1 2\r\n")
    seed("edge_list", "sizes_asked_for", 0xc0 | 12, "\xef\xbb\xbf1 2\n6 5")
    seed("edge_list", "gzip", 0, zipped_text("1 2\n2 3\n"))


def rutherford_boeing():
    def file(kind, sizes, formats, lists, values=1, counts="", more=""):
        return (f"{'title':<72}{'key':<8}\n             6             1             1             {values:>14}{counts}\n"
                f"{kind}           {sizes}\n{formats}\n{more}" + "".join(line + "\n" for line in lists))

    seed("rutherford_boeing", "real", 16,
         file("rua", "3 4 5 0", "(16I5)          (16I5)          (4E20.12)",
              ["    1    3    3    5    6", "    1    3    2    3    1", "  1.5000E+00         -2.5D-3             7.",
               " .25                 3"]))
    seed("rutherford_boeing", "touching", 0,
         file("RSA", "3 3 4", "(4I1)(4i1)(1P,4D8.1)", ["1", "345", "1233"], 1)
         .replace("1\n345\n1233\n", "1345\n1233\n1.5D+00 2.5D+00-1.5D+00 1.5+100\n"))
    seed("rutherford_boeing", "pattern", 2, file("psa", "3 3 3", "(8I3) (8I3)", ["  1  3  4  4", "  1  2  3"], 0))
    seed("rutherford_boeing", "integer_skew", 32,
         file("iza", "3 3 2 0", "(I4) (I4) (2(1X,I3))", ["   1", "   2", "   3", "   3", "   2", "   3", "   4  -7"]))
    seed("rutherford_boeing", "complex_hermitian", 1,
         file("cha", "2 2 2 0", "(6I3) (6I3) (2(3X,F5.2))", ["  1  3  3", "  1  2", "    1.00    0.00", "    2.00   -1.50"]))
    seed("rutherford_boeing", "right_hand_sides", 0,
         file("rra", "2 3 2 0", "(10I8) (10I8) (5G16.8) (5G16.8)", ["1 2 2 3", "1 2", "1.0 2.0", "3.0 4.0"], 1,
              "             1", "F             1             0\n"))
    seed("rutherford_boeing", "gzip", 0,
         zipped_text(file("rua", "2 2 2 0", "(3I2) (2I2) (2F4.1)", [" 1 2 3", " 1 2", " 1.0 2.0"])))
    seed("rutherford_boeing", "tar", 0,
         tar_of("a/a.rb", file("pua", "2 2 2 0", "(3I2) (2I2)", [" 1 2 3", " 1 2"], 0)))


NPZ_PARTS = ["format", "shape", "data", "indices", "indptr", "row", "col", "coords", "offsets", "other"]


def npz():
    """Most of them as the list of arrays that the target puts into a zip; NumPy's with less padding in the headers."""
    def short(array):
        length = int.from_bytes(array[8:10], "little")
        text = array[10:10 + length].rstrip() + b"\n"
        return array[:8] + len(text).to_bytes(2, "little") + text + array[10 + length:]

    for name, flags in (("csr", 0), ("csc", 0x10), ("coo", 0x20), ("bsr", 0x30), ("dia", 0x10), ("bsr_fortran", 0),
                        ("dia_fortran", 0x20), ("coords", 0), ("coords_fortran", 0x30), ("complex", 1), ("half", 0),
                        ("big_endian", 0x20), ("booleans", 0), ("unsigned", 0x10), ("unsorted", 0), ("empty", 0),
                        ("format_in_utf32", 0)):
        content = b""
        with zipfile.ZipFile(FIXTURES / f"{name}.npz") as file:
            for member in file.namelist():
                part = NPZ_PARTS.index(member.removesuffix(".npy"))
                content += bytes([part]) + short(file.read(member))
        seed("npz", name, flags, content)
    seed("npz", "zip_deflated", 0x80, (FIXTURES / "csr.npz").read_bytes())
    seed("npz", "zip_stored", 0x90, (FIXTURES / "csr_stored.npz").read_bytes())


def mat():
    for name, flags in (("plain", 0), ("compressed", 0x10), ("logical", 0x20), ("complex", 1), ("no_entries", 0),
                        ("several", 0x40), ("problem_compressed", 0x30), ("matlab_sparse_big_endian", 0x10),
                        ("matlab_complex_big_endian", 0x11), ("matlab_narrow", 0), ("matlab_functions", 0)):
        seed("mat", name, flags, (FIXTURES / f"{name}.mat").read_bytes())

    def element(kind, data):
        return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)

    def array(kind, sizes, name, content):
        return element(14, element(6, struct.pack("<II", kind, 0)) + element(5, struct.pack("<2i", *sizes)) +
                       element(1, name) + content)

    def sparse(name):
        return array(5, (3, 2), name, element(5, struct.pack("<3i", 0, 2, 1)) + element(5, struct.pack("<3i", 0, 2, 3)) +
                     element(2, bytes([1, 2, 3])))

    def dense(name):
        return array(6, (2, 2), name, element(3, struct.pack("<4h", 1, 0, -2, 3)))

    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"
    small_length = struct.pack("<HHI", 5, 4, 4)
    seed("mat", "cell", 0xc0, header + array(1, (2, 1), b"C", dense(b"") + sparse(b"")))
    seed("mat", "dense", 0x40, header + dense(b"A"))
    seed("mat", "problem", 0x80, header + array(2, (1, 1), b"Problem", small_length + element(1, b"A\0\0\0b\0\0\0") +
                                                sparse(b"") + dense(b"")))
    seed("mat", "struct_array", 0x84, header + array(2, (1, 2), b"S", small_length + element(1, b"A\0\0\0") +
                                                     dense(b"") + sparse(b"")))
    seed("mat", "struct_deflated", 0, header + struct.pack("<II", 15, len(zlib.compress(sparse(b"A"), 9))) +
         zlib.compress(sparse(b"A"), 9))


def container():
    """The 3 x 4 matrix with entries (0, 1), (0, 3), (2, 0), (2, 1) in every format. The target fills in the checksums."""
    types = {"b": (1, "B"), "u16": (2, "H"), "i32": (3, "i"), "i64": (4, "q"), "fp16": (5, "H"), "bf16": (6, "H"),
             "fp32": (7, "f"), "fp64": (8, "d")}

    def file(kind, element, num_values, sections, parameters=(0, 0), index_bytes=4):
        head = bytearray(128 + 64 * len(sections))
        content = bytearray()
        for k, (name, kind_of, values) in enumerate(sections):
            number, code = types[kind_of]
            data = struct.pack(f"<{len(values)}{code}", *values)
            content += b"\0" * (-(len(head) + len(content)) % 64)
            struct.pack_into("<16sIIQQQQQ", head, 128 + 64 * k, name.encode(), number, name != "metadata",
                             len(head) + len(content), len(values), len(data), 0, 0)
            content += data
        struct.pack_into("<8sIIQQIIIIqqqqq", head, 0, b"BCSCFILE", 1, len(head), len(head) + len(content), 0, kind,
                         element, index_bytes, len(sections), 3, 4, num_values, *parameters)
        return bytes(head + content)

    values = ("values", "fp32", (1, 2, 3, 4))
    rows, cols = ("row_ind", "i32", (0, 0, 2, 2)), ("col_ind", "i32", (1, 3, 0, 1))
    row_ptr = ("row_ptr", "i32", (0, 2, 2, 4))
    seed("container", "coo", 0, file(1, 1, 4, [rows, cols, values]))
    seed("container", "coo_pattern", 34, file(1, 5, 4, [rows, cols]))
    seed("container", "csr_wide", 0, file(2, 2, 4, [("row_ptr", "i64", row_ptr[2]), ("col_ind", "i64", cols[2]),
                                                    ("values", "fp64", values[2])], index_bytes=8))
    seed("container", "csr_words", 48, file(2, 3, 4, [("metadata", "b", b"kind\0test\0name\0tiny\0"), row_ptr, cols,
                                                      ("values", "fp16", (0x3c00, 0x4000, 0x4200, 0x4400))]))
    seed("container", "csc", 0, file(3, 4, 4, [("col_ptr", "i32", (0, 1, 3, 3, 4)), ("row_ind", "i32", (2, 0, 2, 0)),
                                               ("values", "bf16", (0x4040, 0x3f80, 0x4080, 0x4000))]))
    seed("container", "bsr", 0, file(4, 1, 12, [("brow_ptr", "i32", (0, 2, 3)), ("bcol_ind", "i32", (0, 1, 0)),
                                                ("values", "fp32", (0, 1, 0, 0, 0, 2, 0, 0, 3, 4, 0, 0))], (2, 2)))
    seed("container", "ell", 32, file(5, 1, 16, [("bcol_ind", "i32", (0, 1, 0, -1)),
                                                ("values", "fp32", (0, 1, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0))],
                                     (2, 2)))
    seed("container", "dense", 0, file(6, 1, 12, [("values", "fp32", (0, 0, 3, 1, 0, 4, 0, 0, 0, 2, 0, 0))], (1, 0), 0))
    seed("container", "bcsc", 16, file(7, 1, 4, [("brow_ptr", "i32", (0, 2, 4)), cols, ("col_ptr", "i32", range(5)),
                                                 ("row_ind", "i32", (0, 0, 2, 2)), values], (2, 0)))
    pointers = [("brow_ptr", "i32", (0, 3)), ("entry_ptr", "i32", (0, 4))]
    ends = [("col_count", "b", (0, 1, 0)), ("values", "fp32", (3, 1, 4, 2)), ("row_in_block", "b", (2, 0, 2, 0))]
    seed("container", "compact", 0, file(8, 1, 4, [*pointers, ("col_ind", "i32", (0, 1, 3)), *ends], (3, 0)))
    seed("container", "compact_narrow", 0, file(8, 1, 4, [*pointers, ("col_ind16", "u16", (0, 1, 3)), *ends], (3, 0)))
    seed("container", "compact_own_heights", 0,
         file(8, 1, 4, [("block_row", "i32", (0, 2, 3)), ("brow_ptr", "i32", (0, 2, 4)), ("entry_ptr", "i32", (0, 2, 4)),
                        ("dense_end", "i32", (1, 2)), ("col_ind", "i32", (1, 3, 0, 1)), ("col_count", "b", (0, 0, 0, 0)),
                        values, ("row_in_block", "b", (0, 0, 0, 0))], (3, 0)))
    seed("container", "compact_as_csr", 0, file(8, 1, 4, [("brow_ptr", "i32", row_ptr[2]), cols, values], (1, 0)))
    seed("container", "gzip", 0, gzip.compress(file(2, 5, 4, [row_ptr, cols]), 9, mtime=0))


if __name__ == "__main__":
    for make in (smtx, libsvm, edge_list, rutherford_boeing, npz, mat, container):
        make()
