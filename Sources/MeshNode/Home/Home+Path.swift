import Glibc

extension Home {
  /// Returns whether a node of another home runs with a database, according to the notes in the two lock files. It is
  /// false while that home is created, which takes the database for a moment.
  package static func isServed(_ database: String, elsewhereThan path: String) -> Bool {
    DatabaseLock.isServed(database, elsewhereThan: path)
  }

  /// Returns the absolute path of the home: `option` (`--home`), else `MESH_HOME`, else `$XDG_STATE_HOME/mesh`, else
  /// `~/.local/state/mesh`. Empty values count as unset.
  public static func path(option: String?, environment: [String: String]) throws(HomeError) -> String {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let option = option ?? value("MESH_HOME") { return try absolute(option) }
    // The XDG specification says that relative values are ignored.
    if let state = value("XDG_STATE_HOME"), state.hasPrefix("/") { return try absolute("\(state)/mesh") }
    if let user = value("HOME") { return try absolute("\(user)/.local/state/mesh") }
    throw HomeError(.name, "no home is named: none of --home, MESH_HOME, XDG_STATE_HOME and HOME is set.")
  }

  /// Returns the home of the node that last worked with a database, if it exists and still names that database.
  package static func last(of database: String) -> Home? { DatabaseLock.lastHome(of: database) }

  /// Returns the path from the root, without `.`, empty parts and a closing slash. Links are not resolved.
  ///
  /// - Parameter what: The thing that the path leads to, for the message of the error.
  public static func absolute(_ path: String, of what: String = "home") throws(HomeError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw HomeError(.name, "the path of the \(what) \(path.isEmpty ? "is empty" : "contains a zero byte").")
    }
    var full = path
    if !path.hasPrefix("/") {
      guard let here = getcwd(nil, 0) else { throw Disk.failure("find", "the working directory") }
      defer { free(here) }
      full = "\(String(cString: here))/\(path)"
    }
    let parts = full.split(separator: "/").filter { $0 != "." }
    return "/" + parts.joined(separator: "/")
  }
}
