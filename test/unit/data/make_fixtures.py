"""Makes the files beside it, with NumPy and SciPy: what npz_test.cpp and mat_test.cpp read.

    python3 make_fixtures.py        writes into its own folder

Files named matlab_* were written by MATLAB itself; they are copies of SciPy's test data (BSD 3-Clause License,
Copyright (c) 2001-2002 Enthought, Inc. 2003, SciPy Developers), taken from the installed package.
"""
import io
import pathlib
import shutil
import zipfile

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

    # Columns out of order, a duplicate, and room behind the last entry: all legal, and load_npz mends it.
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


def main():
    npz()


if __name__ == "__main__":
    main()
