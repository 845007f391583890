/// The failure of a plan that can't be made in this access. `Draft.make` returns it as what comes next.
enum PlanObstacle: Error {
  /// A name, an author or a list of columns has no number yet, but the access only reads.
  case readOnly
  /// Hashing a BLOB would hold the write lock for too long.
  case hashing
}
