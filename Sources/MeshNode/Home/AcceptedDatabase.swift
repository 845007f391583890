import MeshStore

/// The file that a person has accepted as the node's database, although it had nothing of mesh. The home keeps it until
/// one of its tables is tracked.
struct AcceptedDatabase {
  let home: Home

  /// Accepts the file that is at the path now. A file that is moved there later isn't accepted.
  func accept(_ path: String) throws {
    guard let file = FileIdentity(at: path) else {
      throw HomeError(.fileMissing, "\(path), the database of this node, is missing: put the file there first.")
    }
    try home.write(.acceptedDatabase, Array("\(file.device) \(file.inode)\n".utf8))
  }

  /// Returns the file that was accepted, or nil if there is none.
  private func identity() throws -> FileIdentity? {
    guard try home.exists(.acceptedDatabase) else { return nil }
    let numbers = String(decoding: try home.read(.acceptedDatabase), as: UTF8.self).split { $0.isWhitespace }
    guard numbers.count == 2, let device = UInt64(numbers[0]), let inode = UInt64(numbers[1]) else { return nil }
    return FileIdentity(device: device, inode: inode)
  }

  /// Returns whether the file at the path is the one that was accepted.
  func isAccepted(_ path: String) throws -> Bool {
    guard let file = FileIdentity(at: path) else { return false }
    return try identity() == file
  }

  /// Forgets the file once it has or had a synchronized table.
  func settle(_ store: Store) throws {
    if try home.exists(.acceptedDatabase), try store.tables.wereEverTracked() { try home.remove(.acceptedDatabase) }
  }
}

extension Home {
  /// Accepts the file at the path of the node's database, although it has nothing of mesh. The node uses it the next time
  /// that it opens its database, which a running daemon does within a second.
  ///
  /// - Returns: The path, and whether the file had to be accepted.
  public func acceptDatabase() throws -> (path: String, isNew: Bool) {
    let path = try configuration().database
    // Opening the file would put a log that belongs to another file into it.
    let isOwnLog = try RememberedLog(home: self).relation(at: path) == .own
    if isOwnLog, FileIdentity(at: path) != nil, (try? Store.hasTables(path)) == true { return (path, false) }
    try AcceptedDatabase(home: self).accept(path)
    return (path, true)
  }
}
