#pragma once

namespace bcsc::core {

class crew;

/// Who does parallel work: so many threads of OpenMP, or all of a crew.
struct team {
  int threads = 1;
  crew* own = nullptr;
};

/// The team that work of `seconds` by one thread is worth: `all`, or the caller alone. Nothing between: libgomp ends
/// the threads that a smaller team leaves over and starts them again for the next larger one, which takes hundreds of
/// us, and products, sums and other libraries follow each other.
team team_for(double seconds, const team& all);

/// As many threads of OpenMP as it would take; the caller alone in a build without it, and within a crew's work.
team default_team();

}  // namespace bcsc::core
