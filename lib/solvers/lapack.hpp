#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>

#include "core/run_time_library.hpp"

namespace bcsc::solvers {

/// LAPACK and the BLAS below it, loaded with the first small dense problem: Fortran's names, without the underscore.
/// Matrices are column-major, integers 32 bits. The lengths of the texts come last, as Fortran passes them. The
/// functions are null unless why_no_lapack() is empty.
class lapack {
 public:
  using dsyevd_t = void(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
                        double* work, const int* lwork, int* iwork, const int* liwork, int* info, std::size_t,
                        std::size_t);
  using dpotrf_t = void(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
  using dtrtrs_t = void(const char* uplo, const char* trans, const char* diag, const int* n, const int* nrhs,
                        const double* a, const int* lda, double* b, const int* ldb, int* info, std::size_t, std::size_t,
                        std::size_t);
  using dgemm_t = void(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                       const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
                       const double* beta, double* c, const int* ldc, std::size_t, std::size_t);

  dsyevd_t* dsyevd = nullptr;
  dpotrf_t* dpotrf = nullptr;
  dtrtrs_t* dtrtrs = nullptr;
  dgemm_t* dgemm = nullptr;

  /// Of the first of `names` that has all functions; else of none.
  explicit lapack(std::initializer_list<const char*> names);

  /// Empty if it is loaded.
  const std::string& why_not() const { return why_not_; }
  static const lapack& get();

 private:
  std::string why_not_;
};

/// Empty if small dense problems can be solved here, else what to install.
std::string why_no_lapack(const lapack& library = lapack::get());

}  // namespace bcsc::solvers
