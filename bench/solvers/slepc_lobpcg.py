#!/usr/bin/env python3
"""SLEPc's LOBPCG with Jacobi's preconditioner, the rival of eigs_against_scipy.py --slepc, which starts it by MPI.

    mpiexec -n 2 python3 bench/solvers/slepc_lobpcg.py MATRIX.npz --pairs 8 --block 8 --bound RESIDUAL --seed 1

MATRIX.npz is a CSR matrix of scipy.sparse.save_npz. Each process holds a part of its rows. Prints JSON: the seconds of the
solve alone, the pairs that converged, the iterations, and the largest of their residuals, computed from the vectors.
"""

import argparse
import json
import time

import numpy
import scipy.sparse
from petsc4py import PETSc
from slepc4py import SLEPc


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrix")
    parser.add_argument("--pairs", type=int, required=True)
    parser.add_argument("--block", type=int, required=True, help="vectors that are iterated on")
    parser.add_argument("--bound", type=float, required=True, help="of a residual's length, for vectors of length 1")
    parser.add_argument("--max-iterations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    whole = scipy.sparse.load_npz(given.matrix)
    first, end = PETSc.Vec().createMPI(whole.shape[0]).getOwnershipRange()
    own = whole[first:end]
    a = PETSc.Mat().createAIJ(size=whole.shape, csr=(own.indptr, own.indices, own.data))
    a.assemble()

    solver = SLEPc.EPS().create()
    solver.setOperators(a)
    solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
    solver.setType(SLEPc.EPS.Type.LOBPCG)
    solver.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    solver.setDimensions(nev=given.pairs)
    solver.setLOBPCGBlockSize(given.block)
    solver.setTolerances(tol=given.bound, max_it=given.max_iterations)
    solver.setConvergenceTest(SLEPc.EPS.Conv.ABS)
    transform = solver.getST()
    transform.setType(SLEPc.ST.Type.PRECOND)
    transform.getKSP().getPC().setType(PETSc.PC.Type.JACOBI)
    x = a.createVecRight()
    x.setArray(numpy.random.default_rng(given.seed).uniform(-1, 1, whole.shape[0])[first:end])
    solver.setInitialSpace(x)
    solver.setUp()
    PETSc.COMM_WORLD.barrier()
    begin = time.perf_counter()
    solver.solve()
    PETSc.COMM_WORLD.barrier()
    seconds = time.perf_counter() - begin

    found = min(solver.getConverged(), given.pairs)
    largest, r = 0.0, a.createVecLeft()
    for i in range(found):
        value = solver.getEigenpair(i, x)
        a.mult(x, r)
        r.axpy(-value.real, x)
        largest = max(largest, r.norm() / x.norm())
    if PETSc.COMM_WORLD.getRank() == 0:
        version = ".".join(map(str, SLEPc.Sys.getVersion()))
        print(json.dumps({"version": version, "processes": PETSc.COMM_WORLD.getSize(), "seconds": seconds,
                          "converged": found, "iterations": solver.getIterationNumber(), "residual": largest}))


if __name__ == "__main__":
    main()
