import Foundation

/// The Reminders example as an app in a process of its own.
extension MeshProcess {
  /// Returns an address on loopback that no program uses now.
  static func freeAddress() throws -> String {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw Unexpected("no free port") }
    return "127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
  }

  /// The home of the app's node, if no node had the database before.
  var homeOfReminders: String { "\(directory)/Reminders/mesh" }

  /// Starts the app on this machine's database. It carries out what is typed.
  func reminders(listen: String = "127.0.0.1:0", user: String = "alice") async throws -> Child {
    try await start(
      [database, listen], executable: try Child.binary("Reminders"), input: nil,
      environment: ["XDG_STATE_HOME": directory, "USER": user])
  }
}

extension Child {
  /// Returns when the output has this text, which it didn't have before.
  func says(_ text: String, after known: Int = 0) async throws {
    try await eventually("'\(text)' in the output") {
      if let result { throw Unexpected("the app ended: \(result)") }
      return output.dropFirst(known).contains(text)
    }
  }

  /// Types a command, and returns when the app has answered with this text.
  func type(_ line: String, until text: String) async throws {
    let known = output.count
    try type(line)
    try await says(text, after: known)
  }
}
