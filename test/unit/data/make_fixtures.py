"""Makes the files beside this script, with NumPy, SciPy and h5py: what npz_test.cpp and mat_test.cpp read.

    python3 make_fixtures.py        writes into its own folder

Files named matlab_* were written by MATLAB itself; they are copies of SciPy's test data (BSD 3-Clause License,
Copyright (c) 2001-2002 Enthought, Inc. 2003, SciPy Developers), taken from the installed package.
"""
import contextlib
import gzip
import io
import pathlib
import shutil
import zipfile

import h5py
import numpy as np
import scipy.io
import scipy.io.matlab
import scipy.sparse as sp

HERE = pathlib.Path(__file__).parent

# The matrix of nearly every file: exact in every type of number. Entry (1, 2) is a stored zero.
ROWS, COLS = np.array([0, 0, 1, 2, 2, 2, 3]), np.array([1, 4, 2, 0, 1, 5, 3])
VALUES = np.array([1, -2, 0, 3, 4, 5, -6])


def golden(dtype="f8", values=VALUES):
    return sp.csr_matrix((np.asarray(values).astype(dtype), (ROWS, COLS)), shape=(4, 6))


def save(name, matrix, **options):
    sp.save_npz(HERE / name, matrix, **options)


def write_arrays(name, version=(1, 0), **arrays):
    """An .npz by hand, for what save_npz itself does not write."""
    with zipfile.ZipFile(HERE / name, "w", zipfile.ZIP_DEFLATED) as zipped:
        for key, array in arrays.items():
            out = io.BytesIO()
            np.lib.format.write_array(out, np.asanyarray(array), version=version, allow_pickle=False)
            zipped.writestr(zipfile.ZipInfo(key + ".npy", (1980, 1, 1, 0, 0, 0)), out.getvalue())


def csr_arrays(a, **changed):
    arrays = dict(indices=a.indices, indptr=a.indptr, format=b"csr", shape=np.array(a.shape), data=a.data)
    return arrays | changed


def npz():
    a = golden()
    save("csr.npz", a)
    save("csr_stored.npz", golden("f4"), compressed=False)
    save("csr_array.npz", sp.csr_array(a))
    save("csc.npz", a.tocsc())
    save("coo.npz", a.tocoo())
    save("bsr.npz", a.tobsr((2, 3)))
    save("dia.npz", a.todia())
    save("integers.npz", golden("i2"))
    save("unsigned.npz", golden("u8", abs(VALUES)))
    save("booleans.npz", golden("?", VALUES != 0))
    save("complex.npz", golden("c16", VALUES + 7j))
    save("empty.npz", sp.csr_matrix((3, 0)))

    # Columns out of order, a duplicate, and room behind the last entry: all legal, and load_npz repairs it.
    unsorted = sp.csr_matrix((3, 4))
    unsorted.data, unsorted.indices = np.array([1.0, 2.0, 0.5, 4.0, 8.0]), np.array([3, 0, 3, 2, 1], np.int32)
    unsorted.indptr = np.array([0, 3, 3, 4], np.int32)
    save("unsorted.npz", unsorted)
    specials = np.array([np.nan, -np.inf, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, np.inf])
    save("specials.npz", golden("f8", specials))

    wide = dict(indices=a.indices.astype(">i8"), indptr=a.indptr.astype(">i8"), data=a.data.astype(">f8"))
    write_arrays("big_endian.npz", **csr_arrays(a, shape=np.array(a.shape, ">i8"), **wide))
    write_arrays("version_2.npz", (2, 0), **csr_arrays(a))
    write_arrays("version_3.npz", (3, 0), **csr_arrays(a))
    write_arrays("half.npz", **csr_arrays(a, data=a.data.astype("f2")))
    write_arrays("format_in_utf32.npz", **csr_arrays(a, format="csr"))
    c = a.tocoo()
    write_arrays("coords.npz", coords=np.array([c.row, c.col]), format=b"coo", shape=np.array(a.shape), data=c.data)
    write_arrays("coords_fortran.npz", coords=np.asfortranarray([c.row, c.col]), format=b"coo",
                 shape=np.array(a.shape), data=c.data)
    b, d = a.tobsr((2, 3)), a.todia()
    write_arrays("bsr_fortran.npz", indices=b.indices, indptr=b.indptr, format=b"bsr", shape=np.array(a.shape),
                 data=np.asfortranarray(b.data))
    write_arrays("dia_fortran.npz", offsets=d.offsets, format=b"dia", shape=np.array(a.shape),
                 data=np.asfortranarray(d.data))


def savemat(name, variables, **options):
    scipy.io.savemat(HERE / name, variables, **options)
    path = HERE / name
    bytes = bytearray(path.read_bytes())
    bytes[:116] = b"MATLAB 5.0 MAT-file, by SciPy".ljust(116)  # instead of the date
    path.write_bytes(bytes)


def mat():
    a = golden().tocsc()
    savemat("plain.mat", {"A": a})
    savemat("compressed.mat", {"A": a}, do_compression=True)
    savemat("logical.mat", {"A": golden("?", VALUES != 0).tocsc()})
    savemat("complex.mat", {"A": golden("c16", VALUES + 7j).tocsc()}, do_compression=True)
    savemat("no_entries.mat", {"A": sp.csc_matrix((3, 2))})
    savemat("several.mat", {"A": a, "text": "no matrix", "B": a.T, "C": {"inner": 2 * a}}, do_compression=True)
    dense = a.toarray()
    savemat("dense.mat", {"A": dense, "I": dense.astype("i2"), "Z": dense + 1j, "cube": np.ones((2, 2, 2))})
    problem = {"name": "group/name", "id": 7, "A": a, "b": np.ones((4, 1)), "Zeros": golden("f8", VALUES == 0).tocsc(),
               "aux": {"G": 2 * a, "list": np.array([3 * a, "text"], dtype=object)}}
    savemat("problem.mat", {"Problem": problem})
    savemat("problem_compressed.mat", {"Problem": problem}, do_compression=True)

    tests = pathlib.Path(scipy.io.matlab.__file__).parent / "tests" / "data"
    for name, source in {"sparse_big_endian": "testsparse_6.1_SOL2", "sparse_v6": "testsparse_6.5.1_GLNX86",
                         "sparse_v7": "testsparse_7.4_GLNX86", "complex_big_endian": "testsparsecomplex_6.1_SOL2",
                         "complex_v7": "testsparsecomplex_7.4_GLNX86", "narrow": "testsparsefloat_7.4_GLNX86",
                         "logical": "logical_sparse", "functions": "some_functions", "objects": "testobject_6.1_SOL2",
                         "level_4": "testsparse_4.2c_SOL2", "level_4_short": "testdouble_4.2c_SOL2",
                         "v7_3": "testhdf5_7.4_GLNX86", "bad_checksum": "corrupted_zlib_checksum"}.items():
        shutil.copyfile(tests / (source + ".mat"), HERE / f"matlab_{name}.mat")


@contextlib.contextmanager
def v7_3_file(name):
    """HDF5 behind MATLAB's header; mostly zeros, so in gzip, which the reader undoes."""
    path = HERE / name
    with h5py.File(path, "w", userblock_size=512) as file:
        yield file
    bytes = bytearray(path.read_bytes())
    bytes[:128] = b"MATLAB 7.3 MAT-file, by h5py".ljust(116) + bytes[:8] + b"\0\2IM"
    path.with_suffix(".mat.gz").write_bytes(gzip.compress(bytes, 9, mtime=0))
    path.unlink()


def group(parent, name, kind, **attributes):
    made = parent.create_group(name)
    made.attrs["MATLAB_class"] = np.bytes_(kind)
    for key, value in attributes.items():
        made.attrs[key] = value
    return made


def sparse(parent, name, a, kind="double", rows=None, **changed):
    made = group(parent, name, kind, MATLAB_sparse=np.uint64(a.shape[0]) if rows is None else rows)
    lists = dict(data=a.data, ir=a.indices.astype("u8"), jc=a.indptr.astype("u8")) | changed
    for key, values in lists.items():
        if values is not None:
            made.create_dataset(key, data=values)


def dense(parent, name, values, kind="double"):
    parent.create_dataset(name, data=values.T).attrs["MATLAB_class"] = np.bytes_(kind)


def v7_3():
    """Matrices as MATLAB writes them with -v7.3, and as it never would."""
    a = golden().tocsc()
    with v7_3_file("v7_3.mat") as file:
        problem = group(file, "Problem", "struct")
        sparse(problem, "A", a)
        sparse(problem, "Zeros", golden("?", VALUES == 0).tocsc().astype("u1"), "logical")
        dense(problem, "id", np.array([[7.0]]))
        inner = group(problem, "aux", "struct")
        sparse(inner, "empty", sp.csc_matrix((3, 2)), data=None, ir=None)
        sparse(inner, "complex", a, data=np.array([(x, 7) for x in a.data], [("real", "f8"), ("imag", "f8")]))
        sparse(inner, "narrow", a, data=a.data.astype("i1"))
        dense(inner, "dense", a.toarray().astype("i2"), "int16")
        dense(inner, "text", np.array([[65, 66]], "u2"), "char")
        file["Problem/elsewhere"] = h5py.ExternalLink("/etc/passwd", "/")
    with v7_3_file("v7_3_bad.mat") as file:
        sparse(file, "no_jc", a, jc=None)
        sparse(file, "falling_jc", a, jc=np.array([0, 1, 3, 2, 5, 6, 7]))
        sparse(file, "negative_jc", a, jc=np.array([0, 1, 3, -4, 5, 6, 7]))
        sparse(file, "late_jc", a, jc=a.indptr + 1)
        sparse(file, "real_jc", a, jc=a.indptr.astype("f8"))
        sparse(file, "two_dimensional_jc", a, jc=a.indptr.reshape(1, 7))
        sparse(file, "row_beyond", a, rows=np.uint64(3))
        sparse(file, "no_ir", a, ir=None)
        sparse(file, "real_ir", a, ir=a.indices.astype("f4"))
        sparse(file, "short_data", a, data=a.data[1:])
        sparse(file, "text_for_data", a, data=np.array([b"one"] * 7))
        sparse(file, "text_for_rows", a, rows=np.bytes_("four"))
        sparse(file, "negative_rows", a, rows=np.int64(-4))
        sparse(file, "past_int32", a, rows=np.uint64(2**31))
        file.create_dataset("nowhere", (1 << 20, 1 << 20), "f8").attrs["MATLAB_class"] = np.bytes_("double")
        bomb = file.create_dataset("bomb", (1 << 12, 1 << 12), "f8", chunks=(1 << 7, 1 << 12), compression=9)
        bomb.attrs["MATLAB_class"] = np.bytes_("double")
        bomb[:2] = 0
        circle = group(file, "circle", "struct")
        circle["again"] = circle["and_again"] = circle


def main():
    npz()
    mat()
    v7_3()


if __name__ == "__main__":
    main()
